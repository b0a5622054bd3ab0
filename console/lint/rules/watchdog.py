"""A forward did not come back within the watchdog's time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint.evidence import quoting, rank_name
from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LogContext
    from console.lint.finding import Finding

RULE = Rule(
    id="watchdog",
    title="A forward did not come back within the watchdog's time",
    why="Mostly a collective in which one rank waits for the others; the dump of py-spy would have shown where.",
    source="sgl-project/sglang issues 7553, 9064, 17941; case B08",
)


def explain(log: LogContext) -> Iterator[Finding]:
    missing = [record for record in log.of_kind("notice") if record.fields["about"] == "py_spy_missing"]
    for record in log.failures("watchdog"):
        if not log.is_cause(record):
            continue
        rank = rank_name(record.rank)
        message = f"{rank} hung: no forward came back within {record.fields['timeout_s']} s (watchdog)"
        hint = (
            "Look at the other ranks' last lines, and which collective (NCCL_DEBUG=INFO); --watchdog-timeout raises it."
        )
        if missing:
            hint += " Install py-spy on the node: its dump would have named the place."
        yield quoting(RULE.error(message, hint), record, *missing[:1])
        return
    for record in log.failures("soft_watchdog"):
        message = f"a forward took longer than {record.fields['timeout_s']} s; the server went on"
        yield quoting(RULE.warn(message, "Numbers taken then are not the server's."), record)
        return
