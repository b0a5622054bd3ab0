"""A GPU that the launch will use is held, or cannot be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LaunchContext
    from console.lint.finding import Finding

RULE = Rule(
    id="gpus-held",
    title="A GPU that the launch will use is held, or cannot be read",
    why="A launch onto held GPUs dies in its memory pool, or takes a colleague's job down with it.",
    source="readings of NVML or nvidia-smi on the node",
)


def check_node(context: LaunchContext) -> Iterator[Finding]:
    for gpu in context.gpus:
        if gpu.state == "held":
            yield RULE.error(f"GPU {gpu.index} is held: {gpu.reason}", "Free it first (`free NODE`).")
        elif gpu.state == "unknown":
            yield RULE.warn(f"GPU {gpu.index} is unknown: {gpu.reason}", "Look at it on the node.")
