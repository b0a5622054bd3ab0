"""The serving Python is not there, or has no SGLang."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LaunchContext
    from console.lint.finding import Finding

RULE = Rule(
    id="sglang-missing",
    title="The serving Python is not there, or has no SGLang",
    why="A typo in `python:` shows only as exit 127 otherwise.",
    source="that Python is run on the node and asked for sglang and its version",
)


def check_node(context: LaunchContext) -> Iterator[Finding]:
    facts = context.sglang
    if facts.error:
        hint = "Set `python` of the profile, or the node's variables, to the Python that serves."
        yield RULE.error(f"no SGLang for {facts.python}: {facts.error}", hint)
