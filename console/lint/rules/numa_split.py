"""The GPUs of one launch hang on several NUMA nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint import hardware
from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from console.lint.context import LaunchContext
    from console.lint.finding import Finding
    from remote_agent.protocol import GpuHardware

RULE = Rule(
    id="numa-split",
    title="The GPUs of one launch hang on several NUMA nodes",
    why="Between them PCIe traffic crosses the CPUs' own link, and half the ranks run far from their GPU "
    "unless pinned.",
    source="numa_node in sysfs; `nvidia-smi topo -m`, SYS; SGLang has --numa-node since 0.5.2",
)


def check_node(context: LaunchContext) -> Iterator[Finding]:
    gpus = hardware.used(context)
    nodes = sorted({gpu.numa_node for gpu in gpus if gpu.numa_node is not None})
    if len(nodes) < 2 or context.preflight is None:
        return
    message = f"GPUs {_names(gpus)} hang on NUMA nodes {', '.join(map(str, nodes))}"
    every = context.preflight.hardware.gpus
    for node in nodes:
        near = [gpu for gpu in every if gpu.numa_node == node]
        if len(near) >= len(gpus):
            yield RULE.info(message, f"NUMA node {node} has enough of its own: {_names(near)}.")
            return
    if any(not path.startswith("NV") for path in hardware.paths(context).values()):
        yield RULE.info(message, "No NVLink joins them all: expect slow all-reduces, compare on this node only.")


def _names(gpus: Iterable[GpuHardware]) -> str:
    return ", ".join(str(gpu.index) for gpu in gpus)
