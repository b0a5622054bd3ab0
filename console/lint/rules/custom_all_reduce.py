"""SGLang's own all-reduce kernel failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint.evidence import quoting
from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LogContext
    from console.lint.finding import Finding

RULE = Rule(
    id="custom-all-reduce",
    title="SGLang's own all-reduce kernel failed",
    why="It shares graph buffers over CUDA IPC, which some hosts refuse. Without it every layer's all-reduce goes over "
    "NCCL: it works, and is another speed.",
    source="vllm-project/vllm issues 5613 and 9046, sgl-project/sglang issue 13016; case B15",
)


def explain(log: LogContext) -> Iterator[Finding]:
    for record in log.failures("custom_all_reduce"):
        message = f"the custom all-reduce kernel failed: {record.fields.get('said')}"
        hint = "Give --disable-custom-all-reduce, in the baseline too: it changes the speed."
        yield quoting(RULE.error(message, hint), record)
        return
