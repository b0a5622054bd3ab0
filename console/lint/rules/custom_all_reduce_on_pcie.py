"""GPUs without NVLink: SGLang turns its own all-reduce off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint import asks, hardware
from console.lint.evidence import quoting
from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LaunchContext, LogContext
    from console.lint.finding import Finding

RULE = Rule(
    id="custom-all-reduce-on-pcie",
    title="GPUs without NVLink: SGLang turns its own all-reduce off",
    why="Each layer's all-reduce then goes over NCCL, whose protocol and channels decide the speed. A "
    "baseline from an NVLink node cannot be compared.",
    source="SGLang's custom_all_reduce: `not supported on more than two PCIe-only GPUs`, by NVML's NVLink status of "
    "each pair, 28 releases",
)


def check_node(context: LaunchContext) -> Iterator[Finding]:
    paths = hardware.paths(context)
    slow = {pair: path for pair, path in paths.items() if not path.startswith("NV")}
    if len(hardware.used(context)) < 3 or not slow or asks.full(context.launch).has("disable-custom-all-reduce"):
        return
    told = ", ".join(f"{a}-{b} {path}" for (a, b), path in list(slow.items())[:8])
    message = "SGLang will turn its custom all-reduce off: more than two GPUs, and some are linked by PCIe only"
    hint = "NCCL's settings matter here; --disable-custom-all-reduce says the same without the warning."
    yield RULE.info(message, hint, f"{told}{', …' if len(slow) > 8 else ''} (as `nvidia-smi topo -m`)")


def explain(log: LogContext) -> Iterator[Finding]:
    for record in log.of_kind("notice"):
        if record.fields["about"] == "custom_all_reduce_off":
            hint = "NCCL's settings matter here: each layer's all-reduce goes over it."
            yield quoting(RULE.info("more than two GPUs on PCIe only: custom all-reduce is off", hint), record)
            return
