"""No compiler for kernels that are built at the first start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint import hardware
from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LaunchContext
    from console.lint.finding import Finding

RULE = Rule(
    id="jit-compiler-missing",
    title="No compiler for kernels that are built at the first start",
    why="flashinfer, DeepGEMM and others compile what is not shipped; it ends as `Capture cuda graph failed`.",
    source="torch/utils/cpp_extension.py (CUDA_HOME, CUDA_PATH, PATH, /usr/local/cuda); flashinfer runs ninja "
    "by name; seen on 1 × H200, SGLang 0.5.12.post1",
)


def check_node(context: LaunchContext) -> Iterator[Finding]:
    facts = hardware.on_gpus(context)
    absent = [name for name in ("nvcc", "ninja") if facts and facts.programs.get(name) == ""]
    if absent:
        message = f"no {' and no '.join(absent)} for this server: a kernel that is not shipped cannot be built"
        hint = "Set CUDA_HOME or PATH in the profile's env; a virtual environment's own bin is not on it by itself."
        yield RULE.info(message, hint)
