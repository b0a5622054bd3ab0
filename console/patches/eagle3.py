"""Where EAGLE-3's tensors pass in SGLang: the anchors and model files that more than one patch uses.

A1, A2 and A2' hold from SGLang 0.4.6.post1 to 0.5.23 (llama; DeepSeek from 0.5.5 on). A1 in llama.py also fires for a
LlamaForCausalLMEagle3 draft, which inherits that forward.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from console.patches.anchor import Anchor, ClassRule
from console.patches.library import FileEdit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from console.patches.library import Insert

A1 = Anchor(
    "A1",
    ast.If,
    (
        "self.capture_aux_hidden_states",
        "self.capture_aux_hidden_states and isinstance(hidden_states, tuple)",  # minimax_m3_vl, 0.5.20
    ),
    needs="capture_aux_hidden_states",
    absent="no model of this file hands on captured states: this version has no EAGLE-3 for it",
    method="forward",
)

# File under srt/models/ → architectures whose forward is there, from every class with set_eagle3_layers_to_capture in
# 0.4.6.post1 to 0.5.23. KimiK25 and the Llama4, Gemma3 wrappers run the forward of their language model.
_TARGETS = {
    "apertus": "ApertusForCausalLM",
    "bailing_moe": "BailingMoEForCausalLM BailingMoeForCausalLM BailingMoeV2ForCausalLM SarvamMoEForCausalLM",
    "deepseek_v2": "DeepseekV2ForCausalLM DeepseekV3ForCausalLM DeepseekV32ForCausalLM GlmMoeDsaForCausalLM"
    " Glm4MoeLiteForCausalLM KimiK25ForConditionalGeneration MistralLarge3ForCausalLM",
    "exaone_moe": "ExaoneMoEForCausalLM ExaoneMoeForCausalLM",
    "gemma3_causal": "Gemma3ForCausalLM Gemma3ForConditionalGeneration",
    "gemma4_causal": "Gemma4ForCausalLM",
    "gemma4_mm": "Gemma4ForConditionalGeneration",
    "glm4_moe": "Glm4MoeForCausalLM",
    "glm4_moe_lite": "Glm4MoeLiteForCausalLM",
    "glm5_next": "Glm5NextForConditionalGeneration",
    "gpt_oss": "GptOssForCausalLM",
    "llama": "LlamaForCausalLM Llama4ForCausalLM Llama4ForConditionalGeneration MistralForCausalLM"
    " Ministral3ForCausalLM Phi3ForCausalLM InternLM3ForCausalLM IQuestCoderForCausalLM TeleFLMForCausalLM",
    "longcat_flash": "LongcatFlashForCausalLM",
    "minimax_m2": "MiniMaxM2ForCausalLM",
    "minimax_m3": "MiniMaxM3SparseForCausalLM",
    "minimax_m3_vl": "MiniMaxM3SparseForConditionalGeneration",
    "qwen2": "Qwen2ForCausalLM",
    "qwen2_5_vl": "Qwen2_5_VLForConditionalGeneration",
    "qwen2_moe": "Qwen2MoeForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
    "qwen3_moe": "Qwen3MoeForCausalLM",
    "qwen3_next": "Qwen3NextForCausalLM",
    "qwen3_vl": "Qwen3VLForConditionalGeneration Qwen3VLMoeForConditionalGeneration Qwen3_5ForConditionalGeneration"
    " Qwen3_5MoeForConditionalGeneration",
}
# File → (class of the inner model, architecture).
_DRAFTS = {
    "llama_eagle3": ("LlamaModel", "LlamaForCausalLMEagle3"),
    "kimi_k25_eagle3": ("Eagle3MLAModel", "Eagle3DeepseekV2ForCausalLM"),
}


def targets(inserts: tuple[Insert, ...]) -> Iterator[FileEdit]:
    """Yield the edits that put `inserts` into every target's forward."""
    for file, architectures in _TARGETS.items():
        yield FileEdit(f"srt/models/{file}.py", inserts, "target", frozenset(architectures.split()))


def drafts(inserts: Callable[[Anchor, Anchor], tuple[Insert, ...]]) -> Iterator[FileEdit]:
    """Yield the edits of every draft model: what `inserts` makes of its A2 and A2'."""
    for file, (cls, architecture) in _DRAFTS.items():
        yield FileEdit(f"srt/models/{file}.py", inserts(*_draft(cls)), "draft", frozenset({architecture}))


def _draft(cls: str) -> tuple[Anchor, Anchor]:
    absent = "no model of this file takes hidden states from the target"
    a2 = Anchor(
        "A2",
        ast.Assign,
        ("hidden_states = forward_batch.spec_info.hidden_states",),
        needs="spec_info",
        absent=absent,
        cls=ClassRule(cls),
        method="forward",
    )
    a2_after = Anchor(
        "A2'",
        ast.If,
        ("hidden_states.shape[-1] != embeds.shape[-1]",),
        needs="spec_info",
        absent=absent,
        cls=ClassRule(cls),
        method="forward",
    )
    return a2, a2_after
