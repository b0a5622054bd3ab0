"""A secret named by reference must be set where the console runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LaunchContext


def check(context: LaunchContext) -> Iterator[Finding]:
    for name in context.command.missing_secrets:
        yield Finding("secret-missing", "error", f"the variable {name} is not set here", f"export {name}=…")
