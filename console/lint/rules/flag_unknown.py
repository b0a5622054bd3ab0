"""A flag is not known to this release."""

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
    id="flag-unknown",
    title="A flag is not known to this release",
    why="argparse ends the launch before its first log line.",
    source="argparse declarations of 28 releases, 0.4.6.post1 to 0.5.23, or --help of the installed one",
)


def check(launch: Launch) -> Iterator[Finding]:
    for each in asks.read_as(launch, "later"):
        yield _later(each)
    for each in asks.read_as(launch, "unknown"):
        # A plugin or a fork may add flags: sure is only what the installed one says of itself.
        tell = RULE.error if launch.version or launch.installed.flags else RULE.warn
        yield tell(f"--{each.flag} is not a flag that is known here", _hint(each), each.told)


def explain(log: LogContext) -> Iterator[Finding]:
    for each, record in asks.refused_as(log, "later"):
        yield quoting(_later(each), record)
    for each, record in asks.refused_as(log, "unknown"):
        yield quoting(RULE.error(f"this release does not know --{each.flag}", _hint(each)), record)


def _later(each: Reading) -> Finding:
    return RULE.error(f"--{each.flag} came after this release", "Leave it out, or run a later release.", each.told)


def _hint(each: Reading) -> str:
    return f"Nearest: --{each.full}." if each.full else "See `launch_server --help` on the node."
