"""A rank was killed from outside, and the others lost it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint.evidence import quoting, rank_name
from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LogContext
    from console.lint.finding import Finding

RULE = Rule(
    id="rank-lost",
    title="A rank was killed from outside, and the others lost it",
    why="A killed process leaves no line. What is read is the complaint of a rank that still lived: its connection was "
    "reset.",
    source="one scheduler SIGKILLed on 2 × H200, SGLang 0.5.12.post1; `exit code is -9` in 0.5.10 and later",
)

_LOST = ("Connection reset by peer", "Connection closed by peer", "Broken pipe")
_KILLED = (-9, 137)


def explain(log: LogContext) -> Iterator[Finding]:
    hint = (
        "Look at `dmesg` for the OOM killer, ask who else ends processes on the node, see the run's exit code; then "
        "launch again."
    )
    for record in log.failures("rank_dead", "child_crashed", "exit_code"):
        if record.fields.get("exit_code") in _KILLED and log.history.phase.name == "died":
            who = f"rank {record.rank}" if record.rank is not None else "a process"
            yield quoting(RULE.error(f"{who} was killed (SIGKILL): by the OOM killer, or by hand", hint), record)
            return
    for record in log.trouble("traceback", "failure"):
        sentence = str(record.fields.get("sentence", ""))
        if not log.is_cause(record) or not any(sign in sentence for sign in _LOST):
            continue
        rank = log.cause.rank if log.cause else None
        spoke = log.history.notable.ranks - {rank}
        other = f"rank {next(iter(spoke))}" if rank is not None and len(spoke) == 1 else "another rank"
        message = f"{other} was killed from outside: it left no word, {rank_name(rank)} lost its connection"
        yield quoting(RULE.error(message, hint), record)
        return
