"""A flag is abbreviated."""

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
    id="flag-abbreviated",
    title="A flag is abbreviated",
    why=(
        "argparse takes any unambiguous beginning, until a release adds a flag beside it: --speculative-draft "
        "worked up to 0.5.1 and stops the launch from 0.5.2 on."
    ),
    source="argparse declarations of 28 releases, 0.4.6.post1 to 0.5.23; sgl-project/sglang PRs 10161, 10246, 7505; "
    "case B11",
)


def check(launch: Launch) -> Iterator[Finding]:
    for each in asks.read_as(launch, "abbreviation"):
        yield RULE.warn(f"--{each.flag} is short for --{each.full}", _hint(each), each.told)
    for each in asks.read_as(launch, "ambiguous"):
        yield _ambiguous(each)


def explain(log: LogContext) -> Iterator[Finding]:
    for each, record in asks.refused_as(log, "ambiguous"):
        yield quoting(_ambiguous(each), record)


def _ambiguous(each: Reading) -> Finding:
    message = f"--{each.flag} is ambiguous: it could be {dashed(each.candidates)}; the launch ends (2)"
    return RULE.error(message, _hint(each), each.told)


def _hint(each: Reading) -> str:
    return f"Write --{each.full}." if each.full else "Write the one that is meant."
