"""A flag is vLLM's."""

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
    id="flag-of-vllm",
    title="A flag is vLLM's",
    why="SGLang does not know it and the launch ends before its first log line.",
    source="docs.vllm.ai, engine arguments of 0.5.0 to 0.8.5; sgl-project/sglang issue 555; case B13",
)


def check(launch: Launch) -> Iterator[Finding]:
    for each in asks.read_as(launch, "of-vllm"):
        yield _finding(each)


def explain(log: LogContext) -> Iterator[Finding]:
    for each, record in asks.refused_as(log, "of-vllm"):
        yield quoting(_finding(each), record)


def _finding(each: Reading) -> Finding:
    hint = f"Here: --{each.full}." if each.full else "There is no such flag here: leave it out."
    return RULE.error(f"--{each.flag} is vLLM's; the launch ends (2)", hint, each.told)
