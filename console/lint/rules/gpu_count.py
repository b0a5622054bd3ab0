"""The node has fewer GPUs than the launch needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LaunchContext
    from console.lint.finding import Finding

RULE = Rule(
    id="gpu-count",
    title="The node has fewer GPUs than the launch needs",
    why="A rank without a GPU dies with `invalid device ordinal` once the others have begun to load.",
    source="torch; tp_size × pp_size / nnodes ranks on each node, one GPU each",
)


def check_node(context: LaunchContext) -> Iterator[Finding]:
    facts, wanted = context.preflight, context.needs
    if facts is None or not facts.hardware.gpus or context.launch.asked.value("device") == "cpu":
        return
    there = [gpu.index for gpu in facts.hardware.gpus]
    absent = sorted(set(wanted.gpus or ()) - set(there))
    if absent:
        names = ", ".join(map(str, absent))
        yield RULE.error(f"GPU {names} is not on this node, which has {len(there)}", "Correct `gpus` of the profile.")
    shown = context.command.env.get("CUDA_VISIBLE_DEVICES")
    count = len([each for each in shown.split(",") if each.strip()]) if shown is not None else len(there)
    if count < wanted.gpu_count:
        seen = f"CUDA_VISIBLE_DEVICES={shown} shows {count}" if shown is not None else f"the node has {count}"
        hint = "Give it as many, or lower tp_size; it must divide the attention heads."
        yield RULE.error(f"{wanted.gpu_count} GPUs are needed; {seen}", hint)
