"""A model will be downloaded from the hub."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint.rule import Rule
from console.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LaunchContext
    from console.lint.finding import Finding

RULE = Rule(
    id="hub-download",
    title="A model will be downloaded from the hub",
    why="Hundreds of gigabytes may come before the first line of loading, into a disk that may be too small.",
    source="huggingface_hub: no snapshot with weights in the cache; its size is not known here",
)


def check_node(context: LaunchContext) -> Iterator[Finding]:
    hub = context.preflight.hub if context.preflight else None
    if hub and hub.missing and not hub.offline_by:
        free = f", which has {format_bytes(hub.free_bytes)} free" if hub.free_bytes is not None else ""
        message = f"{', '.join(hub.missing)} will be downloaded into {hub.cache}{free}; its size is not known"
        yield RULE.warn(message, "Fetch it first, or give the path of a folder on the node.")
