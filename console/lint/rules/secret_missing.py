"""A secret named by reference is not set where the console runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LaunchContext
    from console.lint.finding import Finding

RULE = Rule(
    id="secret-missing",
    title="A secret named by reference is not set where the console runs",
    why="The server would start without its key.",
    source="the environment of the console, from which secret_env and api_key are filled",
)


def check_node(context: LaunchContext) -> Iterator[Finding]:
    for name in context.command.missing_secrets:
        yield RULE.error(f"the variable {name} is not set here", f"export {name}=…")
