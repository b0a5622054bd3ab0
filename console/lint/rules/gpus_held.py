"""A launch onto held GPUs dies in its memory pool, or takes a colleague's job down with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LaunchContext


def check(context: LaunchContext) -> Iterator[Finding]:
    for gpu in context.gpus:
        if gpu.state == "held":
            yield Finding("gpus-held", "error", f"GPU {gpu.index} is held: {gpu.reason}", "Free it first (`free`).")
        elif gpu.state == "unknown":
            yield Finding("gpus-held", "warn", f"GPU {gpu.index} is unknown: {gpu.reason}", "Look at it on the node.")
