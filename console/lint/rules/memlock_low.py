"""Locked memory is limited, and the launch spans nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint import asks, hardware
from console.lint.rule import Rule
from console.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LaunchContext
    from console.lint.finding import Finding

RULE = Rule(
    id="memlock-low",
    title="Locked memory is limited, and the launch spans nodes",
    why="RDMA registers its buffers as locked memory: NCCL over InfiniBand, and the transfer of a split "
    "prefill and decode.",
    source="NCCL user guide, troubleshooting: `--ulimit memlock=-1`",
)


def check_node(context: LaunchContext) -> Iterator[Finding]:
    facts, asked = hardware.on_gpus(context), asks.full(context.launch)
    soft, _hard = (facts.limits.get("memlock") if facts else None) or (-1, -1)
    split = asked.value("disaggregation-mode") in ("prefill", "decode")
    if soft >= 0 and ((asked.number("nnodes") or 1) > 1 or split):
        hint = "Set it to unlimited (limits.conf, --ulimit memlock=-1), then connect anew."
        yield RULE.warn(f"locked memory is limited to {format_bytes(soft)}; RDMA needs more", hint)
