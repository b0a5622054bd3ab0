"""A model is named by a hub id, downloads are forbidden, and it is not in the cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LaunchContext
    from console.lint.finding import Finding

RULE = Rule(
    id="hub-offline",
    title="A model is named by a hub id, downloads are forbidden, and it is not in the cache",
    why="The launch fails after the imports, with a message about the connection.",
    source="huggingface_hub, constants.py: HF_HUB_OFFLINE, else TRANSFORMERS_OFFLINE; the cache by "
    "HF_HUB_CACHE, HF_HOME",
)


def check_node(context: LaunchContext) -> Iterator[Finding]:
    hub = context.preflight.hub if context.preflight else None
    if hub and hub.offline_by and hub.missing:
        message = f"{', '.join(hub.missing)} is not in {hub.cache}, and {hub.offline_by} forbids downloads"
        hint = "Give the path of a folder on the node, fetch it first, or take the variable back."
        yield RULE.error(message, hint)
