"""The demo's model folders: true configs and safetensors headers, and no weights (the files are sparse).

The target is Kimi-K2.5 in its outer form. The draft is the story's, with two faulty brothers that share its weights:
one that names the layers before those it was trained on, and one that captures a fourth state.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Tensors = dict[str, tuple[str, list[int]]]
"""Name to dtype and shape, in file order."""

_H, _VOCAB, _DRAFT_VOCAB, _INTER = 7168, 163840, 32000, 18432
_SIZES = {"BF16": 2, "I64": 8, "BOOL": 1}

_TARGET_TEXT = {
    "architectures": ["DeepseekV3ForCausalLM"],
    "model_type": "kimi_k2",
    "hidden_size": _H,
    "intermediate_size": _INTER,
    "moe_intermediate_size": 2048,
    "num_hidden_layers": 61,
    "num_attention_heads": 64,
    "num_key_value_heads": 64,
    "n_routed_experts": 384,
    "n_shared_experts": 1,
    "num_experts_per_tok": 8,
    "first_k_dense_replace": 1,
    "kv_lora_rank": 512,
    "q_lora_rank": 1536,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "max_position_embeddings": 262144,
    "rms_norm_eps": 1e-05,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "vocab_size": _VOCAB,
}
_TARGET = {
    "_simulated": "written by spec-console's embedded node; there are no weights",
    "architectures": ["KimiK25ForConditionalGeneration"],
    "model_type": "kimi_k25",
    "torch_dtype": "bfloat16",
    "text_config": _TARGET_TEXT,
}
_DRAFT = {
    "_simulated": "written by spec-console's embedded node; there are no weights",
    "architectures": ["LlamaForCausalLMEagle3"],
    "model_type": "llama",
    "hidden_size": _H,
    "intermediate_size": _INTER,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "num_hidden_layers": 1,
    "hidden_act": "silu",
    "max_position_embeddings": 262144,
    "rms_norm_eps": 1e-05,
    "rope_theta": 1000000.0,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "vocab_size": _VOCAB,
    "draft_vocab_size": _DRAFT_VOCAB,
    "eagle_config": {"eagle_aux_hidden_state_layer_ids": [2, 30, 58], "use_aux_hidden_state": True},
}
_TARGET_TENSORS: Tensors = {"language_model.model.norm.weight": ("BF16", [_H])}
_DRAFT_TENSORS: Tensors = {
    "fc.weight": ("BF16", [_H, 3 * _H]),
    "midlayer.input_layernorm.weight": ("BF16", [_H]),
    "midlayer.hidden_norm.weight": ("BF16", [_H]),
    "midlayer.post_attention_layernorm.weight": ("BF16", [_H]),
    "midlayer.self_attn.q_proj.weight": ("BF16", [64 * 128, 2 * _H]),
    "midlayer.self_attn.k_proj.weight": ("BF16", [8 * 128, 2 * _H]),
    "midlayer.self_attn.v_proj.weight": ("BF16", [8 * 128, 2 * _H]),
    "midlayer.self_attn.o_proj.weight": ("BF16", [_H, 64 * 128]),
    "midlayer.mlp.gate_proj.weight": ("BF16", [_INTER, _H]),
    "midlayer.mlp.up_proj.weight": ("BF16", [_INTER, _H]),
    "midlayer.mlp.down_proj.weight": ("BF16", [_H, _INTER]),
    "norm.weight": ("BF16", [_H]),
    "lm_head.weight": ("BF16", [_DRAFT_VOCAB, _H]),
    "d2t": ("I64", [_DRAFT_VOCAB]),
    "t2d": ("BOOL", [_VOCAB]),
}


def write_all(models: Path, drafts: Path) -> None:
    """Write what is missing; a config that the user edited stays. Raises OSError."""
    _folder(models / "kimi-k2.5-int4", _TARGET, _TARGET_TENSORS)
    good = drafts / "output_100k_sglang" / "4"
    _folder(good, _DRAFT, _DRAFT_TENSORS)
    _sharing(drafts / "output_100k_sglang_one_early" / "4", good, {}, [1, 29, 57])
    _sharing(drafts / "output_100k_sglang_four_captures" / "4", good, {"num_aux_hidden_states": 3}, [2, 14, 30, 58])


def _sharing(folder: Path, good: Path, more: dict[str, object], ids: list[int]) -> None:
    eagle = {"eagle_aux_hidden_state_layer_ids": ids, "use_aux_hidden_state": True}
    _folder(folder, {**_DRAFT, **more, "eagle_config": eagle}, None)
    weights = folder / "model.safetensors"
    if not weights.is_symlink():
        weights.symlink_to(os.path.relpath(good / "model.safetensors", folder))


def _folder(folder: Path, config: Mapping[str, object], tensors: Tensors | None) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "config.json"
    if not path.exists():
        path.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    weights = folder / "model.safetensors"
    if tensors is not None and not weights.exists():
        _write_sparse(weights, tensors)


def _write_sparse(path: Path, tensors: Tensors) -> None:
    """A safetensors file whose data are holes, apart from `t2d`, which marks as many tokens as `d2t` maps.

    Format: u64 little-endian header length, header JSON, data (https://github.com/huggingface/safetensors).
    """
    header: dict[str, object] = {"__metadata__": {"format": "pt", "simulated": "holes instead of weights"}}
    at = 0
    spans: dict[str, int] = {}
    for name, (dtype, shape) in tensors.items():
        spans[name] = at
        end = at + _SIZES[dtype] * _count(shape)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, end]}
        at = end
    raw = json.dumps(header, separators=(",", ":")).encode("ascii")
    raw += b" " * (-len(raw) % 8)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with temporary.open("wb") as file:
        file.write(len(raw).to_bytes(8, "little") + raw)
        file.truncate(8 + len(raw) + at)
        if "t2d" in spans:
            file.seek(8 + len(raw) + spans["t2d"])
            file.write(b"\x01" * _DRAFT_VOCAB)
    temporary.replace(path)


def _count(shape: list[int]) -> int:
    count = 1
    for dim in shape:
        count *= dim
    return count
