"""A flag is gone from this release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.launch.flag_reading import dashed
from console.lint import asks
from console.lint.evidence import quoting
from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.launch.flag_reading import Reading
    from console.lint.context import Launch, LogContext
    from console.lint.finding import Finding

RULE = Rule(
    id="flag-removed",
    title="A flag is gone from this release",
    why=(
        "The parser ends the launch before its first log line, or takes the old name for the beginning of another flag."
    ),
    source="argparse declarations of 28 releases, 0.4.6.post1 to 0.5.23",
)


def check(launch: Launch) -> Iterator[Finding]:
    for each in asks.read_as(launch, "retired"):
        yield RULE.error(f"--{each.flag} is retired in this release: giving it ends the launch", each.told)
    for each in asks.read_as(launch, "removed"):
        yield _removed(each)


def explain(log: LogContext) -> Iterator[Finding]:
    for each, record in asks.refused_as(log, "removed"):
        yield quoting(_removed(each), record)


def _removed(each: Reading) -> Finding:
    hint = f"Write --{each.full}." if each.full else "Leave it out."
    if len(each.candidates) == 1:
        then = f"argparse takes it for --{each.candidates[0]}"
    elif each.candidates:
        then = f"it is now an ambiguous beginning of {dashed(each.candidates)}; the launch ends (2)"
    else:
        then = "the launch ends (2)"
    return RULE.error(f"--{each.flag} is gone from this release: {then}", hint, each.told)
