"""Persistence mode is off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint import hardware
from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LaunchContext
    from console.lint.finding import Finding

RULE = Rule(
    id="persistence-off",
    title="Persistence mode is off",
    why="The driver lets a GPU go with its last client: the next start waits for it, and power limits and "
    "clocks that were set are lost.",
    source="NVIDIA, Driver Persistence",
)


def check_node(context: LaunchContext) -> Iterator[Finding]:
    off = [str(gpu.index) for gpu in hardware.used(context) if gpu.persistence is False]
    if off:
        hint = "nvidia-persistenced, or `nvidia-smi -pm 1` as root."
        yield RULE.info(f"persistence mode is off on GPU {', '.join(off)}", hint)
