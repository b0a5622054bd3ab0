"""A debug launch without its patch runs for minutes and prints nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LaunchContext


def check(context: LaunchContext) -> Iterator[Finding]:
    for patch, state in context.patches.items():
        if state != "applied":
            first = "Take it back, then apply it" if state == "drifted" else "Apply it first"
            hint = f"{first}: spec-console patch {'revert' if state == 'drifted' else 'apply'} NODE {patch}"
            yield Finding("patch-missing", "error", f"the profile wants the patch {patch}, which is {state}", hint)
