"""A wrong model path is taken for a hub id and fails after a minute with another message (sglang.md 9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LaunchContext


def check(context: LaunchContext) -> Iterator[Finding]:
    for path in context.needs.paths_to_read:
        facts = context.paths[path]
        if facts.kind == "missing":
            evidence = f"nearest existing folder: {facts.nearest_parent}"
            yield Finding("path-missing", "error", f"{path} does not exist on the node", "Check the profile.", evidence)
        elif not facts.readable:
            yield Finding(
                "path-missing", "error", f"{path} cannot be read by this account", "Check its owner and mode."
            )
