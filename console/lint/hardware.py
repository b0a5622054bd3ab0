"""What rules on the node look at: the GPUs that a launch will use, their links, and the host's facts beside them."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console.lint.context import LaunchContext
    from remote_agent.protocol import GpuHardware, Preflight


def used(context: LaunchContext) -> tuple[GpuHardware, ...]:
    """The GPUs of this launch; empty where the node told none."""
    wanted = {gpu.index for gpu in context.gpus}
    return tuple(gpu for gpu in context.preflight.hardware.gpus if gpu.index in wanted) if context.preflight else ()


def on_gpus(context: LaunchContext) -> Preflight | None:
    """The node's facts, for a launch on GPUs; None for any other."""
    return context.preflight if used(context) else None


def paths(context: LaunchContext) -> dict[tuple[int, int], str]:
    """How each pair of them is linked, as `nvidia-smi topo -m` writes it; empty unless every pair is known."""
    known = {(link.a, link.b): link.path for link in context.preflight.hardware.links} if context.preflight else {}
    pairs = list(combinations(sorted(gpu.index for gpu in used(context)), 2))
    return {pair: known[pair] for pair in pairs} if all(pair in known for pair in pairs) else {}
