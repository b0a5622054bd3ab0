"""A GPU runs below its default power or clocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint import hardware
from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LaunchContext
    from console.lint.finding import Finding
    from remote_agent.protocol import GpuHardware

RULE = Rule(
    id="power-capped",
    title="A GPU runs below its default power or clocks",
    why="A run here is slower than on a node without the cap, and nothing in SGLang's log says so.",
    source="NVML: power management limit and its default, application clocks and theirs, clock event reasons. A"
    " lock by `nvidia-smi -lgc` is not told by NVML",
)

_SLOWED = {0x08: "hardware slowdown", 0x20: "thermal (driver)", 0x40: "thermal (hardware)", 0x80: "power brake"}
"""nvmlClocksEventReasons that are no part of normal work."""


def check_node(context: LaunchContext) -> Iterator[Finding]:
    told = [f"GPU {gpu.index}: {', '.join(faults)}" for gpu in hardware.used(context) if (faults := list(_faults(gpu)))]
    if told:
        hint = "Ask who set it; else compare only with runs under the same cap (the fingerprint keeps the power limit)."
        more = f"; and {len(told) - 1} more" if told[1:] else ""
        yield RULE.warn(f"below the defaults: {told[0]}{more}", hint, "\n".join(told))


def _faults(gpu: GpuHardware) -> Iterator[str]:
    limit, default = gpu.power_limit_w, gpu.power_default_w
    if limit is not None and default is not None and limit < default - 0.5:
        yield f"power limit {limit:g} W, default {default:g} W"
    clock, usual = gpu.clock_app_mhz, gpu.clock_app_default_mhz
    if clock is not None and usual is not None and clock < usual:
        yield f"application clock {clock} MHz, default {usual} MHz"
    slowed = [name for bit, name in _SLOWED.items() if (gpu.clock_reasons or 0) & bit]
    if slowed:
        yield f"slowed now: {', '.join(slowed)}"
