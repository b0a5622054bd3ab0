"""The driver is too old for the CUDA that torch was built for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint import hardware
from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LaunchContext
    from console.lint.finding import Finding

RULE = Rule(
    id="driver-too-old",
    title="The driver is too old for the CUDA that torch was built for",
    why="Torch then refuses every GPU (`The NVIDIA driver on your system is too old`), after the imports, on"
    " each rank.",
    source="NVIDIA, CUDA Compatibility, minor version compatibility: CUDA 11.x needs a driver of 450, 12.x of "
    "525, 13.x of 580 or newer; a forward compatibility package (cuda-compat) lifts that on data-center "
    "GPUs",
)

OLDEST = {11: 450, 12: 525, 13: 580}
"""Driver branch by major release of CUDA."""


def check_node(context: LaunchContext) -> Iterator[Finding]:
    facts = hardware.on_gpus(context)
    built = _version(context.sglang.torch_cuda)
    branch = _version(facts.hardware.driver) if facts else None
    if facts is None or built is None or branch is None:
        return
    offers = _version(facts.hardware.cuda)
    driver, cuda = facts.hardware.driver, context.sglang.torch_cuda
    if branch[0] < OLDEST.get(built[0], 0) and not (offers and offers[0] >= built[0]):
        message = f"torch is built for CUDA {cuda}, which needs driver {OLDEST[built[0]]} or newer; here is {driver}"
        hint = "Take a torch for an older CUDA, or a newer driver; with cuda-compat on its library path: "
        yield RULE.error(message, f"{hint}--allow {RULE.id}.")
    elif offers and offers[0] == built[0] and offers < built:
        message = f"torch is built for CUDA {cuda}, driver {driver} offers {facts.hardware.cuda}: it runs with limits"
        yield RULE.info(message, "Code that is shipped as PTX of the newer CUDA cannot be compiled by this driver.")


def _version(text: str | None) -> tuple[int, int] | None:
    """The first two numbers of a version."""
    parts = [*(text or "").split("."), "0"][:2]
    return (int(parts[0]), int(parts[1])) if all(part.isdecimal() for part in parts) else None
