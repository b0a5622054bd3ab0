"""The draft inherits an attention backend that it cannot use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.launch.releases import is_within
from console.lint import asks, wired
from console.lint.rule import Rule
from console.wiring import draft as drafts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import Launch
    from console.lint.finding import Finding

RULE = Rule(
    id="draft-attention-backend",
    title="The draft inherits an attention backend that it cannot use",
    why="A Llama-style draft of an MLA target takes the target's backend; one that is for MLA alone fails at the "
    "start.",
    source="sgl-project/sglang issue 23490 (Kimi-K2.6, Blackwell); flag from 0.5.7 on; case A08",
)


FLAG = "speculative-draft-attention-backend"
MLA_ONLY = ("trtllm_mla", "cutlass_mla", "flashmla")
BLACKWELL = 10
"""Major compute capability at which SGLang chooses trtllm_mla for MLA by itself."""


def check(launch: Launch) -> Iterator[Finding]:
    draft, asked = wired.eagle3_draft(launch), asks.full(launch)
    if draft is None or launch.target is None or asked.has(FLAG):
        return
    if not drafts.is_mla(launch.target) or drafts.is_mla(draft):
        return
    flags = ("attention-backend", "prefill-attention-backend", "decode-attention-backend")
    named = [value for flag in flags if (value := asked.value(flag))]
    wrong = next((each for each in named if each in MLA_ONLY), None)
    if wrong is None and (named or launch.architecture is None or launch.architecture[0] != BLACKWELL):
        return
    has_flag = is_within(launch.version, "0.5.7") is not False
    hint = (
        f"Give --{FLAG} (trtllm_mha on Blackwell, fa3 on Hopper)."
        if has_flag
        else "Run 0.5.7 or newer, which has the flag."
    )
    evidence = f"the target has kv_lora_rank, {drafts.architecture(draft.config) or 'the draft'} has not"
    yield RULE.warn(f"the draft inherits {wrong or 'trtllm_mla'}, which is for MLA alone", hint, evidence)
