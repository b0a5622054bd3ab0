"""A flag has underscores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint import asks
from console.lint.evidence import quoting
from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.launch.flag_reading import Reading
    from console.lint.context import Launch, LogContext
    from console.lint.finding import Finding

RULE = Rule(
    id="flag-underscore",
    title="A flag has underscores",
    why="Flags have hyphens; argparse answers with hundreds of lines of usage and the error in the last.",
    source="sgl-project/sglang issues 12818, 5032; case B12",
)


def check(launch: Launch) -> Iterator[Finding]:
    for each in asks.read_as(launch, "underscore"):
        yield _finding(each)


def explain(log: LogContext) -> Iterator[Finding]:
    for each, record in asks.refused_as(log, "underscore"):
        yield quoting(_finding(each), record)


def _finding(each: Reading) -> Finding:
    return RULE.error(f"--{each.flag} is not a flag: flags have hyphens", f"Write --{each.full}.", each.told)
