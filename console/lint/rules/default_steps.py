"""Steps, topk and draft tokens are left to SGLang."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.launch.releases import is_within
from console.launch.speculation import EAGLE_LIKE, STEP_FLAGS
from console.lint import asks, wired
from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import Launch
    from console.lint.finding import Finding

RULE = Rule(
    id="default-steps",
    title="Steps, topk and draft tokens are left to SGLang",
    why="What it chooses depends on the target's class and is not in the command: a comparison with another model "
    "compares two settings.",
    source="auto_choose_speculative_params, server_args.py 0.4.6.post1 and 0.5.12.post1 l.7929; 0.5.20",
)


LLAMA = ("LlamaForCausalLM", "Grok1ForCausalLM", "Grok1VForCausalLM")


def check(launch: Launch) -> Iterator[Finding]:
    asked = asks.full(launch)
    if asked.algorithm not in EAGLE_LIKE or asked.has("speculative-adaptive") or any(map(asked.has, STEP_FLAGS)):
        return
    chosen = _chosen(launch, asked.algorithm)
    if chosen is None:
        yield RULE.info("steps, topk and draft tokens are left to SGLang", "Write them, to know what was measured.")
    else:
        steps, topk, tokens = chosen
        message = f"SGLang will take {steps} steps, topk {topk}, {tokens} draft tokens"
        yield RULE.info(
            message, "Write them, to know what was measured.", f"{wired.target_class(launch)}, {launch.version}"
        )


def _chosen(launch: Launch, algorithm: str | None) -> tuple[int, int, int] | None:
    early = is_within(launch.version, last="0.4.6.post1")
    name = wired.target_class(launch)
    if early is None or name is None:
        return None
    if early:
        return 5, 4, 8
    return (5, 4, 8) if name in LLAMA and algorithm != "STANDALONE" else (3, 1, 4)
