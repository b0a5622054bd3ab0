"""Shape records of what EAGLE-3 passes on: captured states, what is concatenated and stored, the draft's fc.

Anchors A1, A2, A2' and A3 hold from SGLang 0.4.6.post1 to 0.5.23 (llama; DeepSeek from 0.5.5 on). `target.aux` in
llama.py also fires for a LlamaForCausalLMEagle3 draft, which inherits that forward: the record names the model.
"""

from __future__ import annotations

import ast

from console.patches.anchor import Anchor, ClassRule
from console.patches.library import FileEdit, Insert, Patch, runtime_file

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
A3 = Anchor(
    "A3",
    ast.If,
    ("logits_metadata.capture_hidden_mode.need_capture()",),
    needs="capture_hidden_mode",
    absent="this logits processor keeps no hidden states",
    cls=ClassRule("LogitsProcessor"),
    top_level=True,
)

# In LAST mode the pruned states are concatenated. Read as the anchored statement itself goes on to read them.
_CONCATENATED = (
    "aux_hidden_states if logits_metadata.capture_hidden_mode.is_full() else aux_pruned_states"
    " if logits_metadata.capture_hidden_mode.is_last() and aux_hidden_states is not None else None"
)
_LOGITS = (
    Insert(
        "logits.cat_in",
        A3,
        "before",
        f'record("logits.cat_in", self, {_CONCATENATED}, logits_metadata)',
        assumes=frozenset({"aux_pruned_states"}),
    ),
    Insert("logits.stored", A3, "after", 'record("logits.stored", self, hidden_states_to_store, logits_metadata)'),
)
_TARGET = (Insert("target.aux", A1, "after", 'record("target.aux", self, aux_hidden_states, forward_batch)'),)

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


def _draft(cls: str) -> tuple[Insert, ...]:
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
    return (
        Insert("draft.fc_in", a2, "after", 'record("draft.fc_in", self, hidden_states, forward_batch)'),
        Insert("draft.fc_out", a2_after, "after", 'record("draft.fc_out", self, hidden_states, forward_batch)'),
    )


PATCH = Patch(
    id="eagle3-shapes",
    title="Print the shape of every EAGLE-3 tensor: captures, concatenation, the draft's fc",
    env="EAGLE3_DEBUG",
    helper=runtime_file("eagle3_shapes.py", path="srt/_spec_console_eagle3.py"),
    edits=(
        FileEdit("srt/layers/logits_processor.py", _LOGITS),
        *(FileEdit(f"srt/models/{f}.py", _TARGET, "target", frozenset(a.split())) for f, a in _TARGETS.items()),
        *(FileEdit(f"srt/models/{f}.py", _draft(c), "draft", frozenset({a})) for f, (c, a) in _DRAFTS.items()),
    ),
)
