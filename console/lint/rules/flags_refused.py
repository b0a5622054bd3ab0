"""argparse refused the command line, and no rule on flags can say more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint import asks
from console.lint.evidence import quoting
from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LogContext
    from console.lint.finding import Finding

RULE = Rule(
    id="flags-refused",
    title="argparse refused the command line",
    why="The one line that says why stands below 340 lines of usage.",
    source="argparse's exit in 28 releases; provoked on 2 × H200, SGLang 0.5.12.post1; sgl-project/sglang PRs 10161, "
    "10246, 7505; cases B11, B12",
)

_TOLD = ("ambiguous", "underscore", "of-vllm", "removed", "later", "unknown")
"""Flags that have a rule of their own, which tells them."""


def explain(log: LogContext) -> Iterator[Finding]:
    record, flags = asks.refusal(log), asks.refused(log)
    left = [f"--{each.flag}" for each in flags if each.standing not in _TOLD]
    if record is None or (flags and not left) or asks.refused_choice(record, "speculative-algorithm"):
        return
    if left:
        message = f"this release does not know {' and '.join(left)}"
        hint = "Name it: `lint --sglang-version V` says which release has which flag."
    else:
        message, hint = f"the command line was refused: {record.fields['sentence']}", "Look at `--help`."
    yield quoting(RULE.error(message, hint), record)
