"""All GPUs have NVLink, and the custom all-reduce is switched off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint import asks, hardware
from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LaunchContext
    from console.lint.finding import Finding

RULE = Rule(
    id="custom-all-reduce-unused",
    title="All GPUs have NVLink, and the custom all-reduce is switched off",
    why="Every layer's small all-reduces go over NCCL, which is slower for them: a verify of a few tokens is"
    " bound by their latency.",
    source="SGLang's --disable-custom-all-reduce: each layer's small all-reduces go over NCCL, on NVLink hosts too",
)


def check_node(context: LaunchContext) -> Iterator[Finding]:
    paths = hardware.paths(context)
    given = asks.full(context.launch).has("disable-custom-all-reduce")
    if given and paths and all(path.startswith("NV") for path in paths.values()):
        message = "--disable-custom-all-reduce, though NVLink joins all GPUs of this launch"
        yield RULE.info(message, "Measure without it; change it in the baseline too.")
