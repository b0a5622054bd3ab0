"""A patch that the profile wants is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LaunchContext, LogContext
    from console.lint.finding import Finding

RULE = Rule(
    id="patch-missing",
    title="A patch that the profile wants is not there",
    why="A debug launch without its patch runs for minutes and prints nothing.",
    source="state of the patch in the installed files, as `patch verify` tells it; the overlay's own line in the log",
)


def check_node(context: LaunchContext) -> Iterator[Finding]:
    for patch, state in context.patches.items():
        if state != "applied":
            first = "Take it back, then apply it" if state == "drifted" else "Apply it first"
            hint = f"{first}: spec-console patch {'revert' if state == 'drifted' else 'apply'} NODE {patch}"
            yield RULE.error(f"the profile wants the patch {patch}, which is {state}", hint)


def explain(log: LogContext) -> Iterator[Finding]:
    for (module, why), count in log.history.overlay.refused.items():
        message = f"{module} was not served patched in {count} process{'es' * (count > 1)}: {why}"
        yield RULE.error(
            message, "The tree changed since the overlay was made: `patch verify`, then `patch apply` again."
        )
        return
