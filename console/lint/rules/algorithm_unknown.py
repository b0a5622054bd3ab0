"""The speculative algorithm is not one of this release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.launch.releases import around, is_within
from console.launch.speculation import SINCE
from console.lint import asks
from console.lint.evidence import quoting
from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import Launch, LogContext
    from console.lint.finding import Finding

RULE = Rule(
    id="algorithm-unknown",
    title="The speculative algorithm is not one of this release",
    why="argparse ends the launch, or from 0.5.12 on a registered plugin is looked for.",
    source="choices of --speculative-algorithm in 28 releases, 0.4.6.post1 to 0.5.23: argparse's up to 0.5.11, from "
    "0.5.12 on plugins may register more",
)


def check(launch: Launch) -> Iterator[Finding]:
    asked = asks.full(launch)
    name, written = asked.algorithm, asked.value("speculative-algorithm") or ""
    if name is None:
        return
    since = SINCE.get(name)
    if since is None:
        tell = RULE.error if is_within(launch.version, last="0.5.11") else RULE.warn
        yield tell(f"{written} is no algorithm of SGLang's own", f"Known: {', '.join(SINCE)}.")
    elif (between := around(launch.version)) and not any(is_within(each, since) for each in between):
        yield RULE.error(f"{name} is not in this release", f"First release read that has it: {since}.")
    elif written != name and is_within(launch.version, last="0.5.11"):
        yield RULE.error(f"{written}: this release takes it in capitals only", f"Write {name}.")


def explain(log: LogContext) -> Iterator[Finding]:
    record = asks.refusal(log)
    refused = asks.refused_choice(record, "speculative-algorithm") if record else None
    if record and refused:
        message = f"{refused[0]} is no algorithm of this release"
        yield quoting(RULE.error(message, f"It takes: {refused[1]}."), record)
