"""The GPUs of one launch have different memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint import hardware
from console.lint.rule import Rule
from console.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LaunchContext
    from console.lint.finding import Finding

RULE = Rule(
    id="gpu-memory-differs",
    title="The GPUs of one launch have different memory",
    why="The KV pool is sized by the GPU with the least; releases to 0.4.x refuse to start below nine "
    "tenths, newer ones warn.",
    source="SGLang, `The memory capacity is unbalanced`; case B05",
)

SHARE = 0.9
"""SGLang's own bound."""


def check_node(context: LaunchContext) -> Iterator[Finding]:
    known = {gpu.index: gpu.memory_total_bytes for gpu in hardware.used(context) if gpu.memory_total_bytes}
    if known and min(known.values()) < SHARE * max(known.values()):
        told = ", ".join(f"GPU {index}: {format_bytes(total)}" for index, total in known.items())
        hint = "Choose GPUs of one kind (`gpus` of the profile); a number measured here fits no other node."
        yield RULE.warn("the GPUs of this launch have different memory", hint, told)
