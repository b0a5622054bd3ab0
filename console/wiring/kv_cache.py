"""How many bytes a token takes in the KV cache of one rank, by the target's config; None where a layout is another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console.launch.asked import Asked
    from console.wiring.checkpoint import Config

_OTHER_LAYOUT = (
    "full_attention_interval",
    "hybrid_override_pattern",
    "index_topk",
    "layers_block_type",
    "linear_attn_config",
    "mamba_d_state",
)
"""Keys of models whose layers do not all keep keys and values of every token."""


def context_length(config: Config) -> int | None:
    """Positions that the model was made for, before a rope scaling that SGLang may add."""
    return _whole(_text(config), "max_position_embeddings")


def bytes_per_token(config: Config, asked: Asked) -> int | None:
    """Of one rank; keys and values in 16 bits, or 8 with an fp8 cache."""
    text = _text(config)
    layers, ranks, stages = _whole(text, "num_hidden_layers"), asked.number("tp-size"), asked.number("pp-size")
    item = {None: 2, "auto": 2, "bf16": 2, "bfloat16": 2, "fp8_e4m3": 1, "fp8_e5m2": 1}.get(
        asked.value("kv-cache-dtype")
    )
    width = _width(text, max(1, ranks or 1))
    if layers is None or item is None or width is None or not _keeps_every_token(text):
        return None
    return width * item * -(-layers // max(1, stages or 1))


def _width(text: Config, ranks: int) -> int | None:
    """Numbers a token and layer: MLA keeps one latent on every rank; else heads are split, one at least."""
    latent, rope = _whole(text, "kv_lora_rank"), _whole(text, "qk_rope_head_dim")
    if latent is not None:
        return None if rope is None else latent + rope
    heads = _whole(text, "num_attention_heads")
    kept = _whole(text, "num_key_value_heads") or heads
    hidden = _whole(text, "hidden_size")
    size = _whole(text, "head_dim") or (hidden // heads if hidden and heads else None)
    return 2 * size * max(1, kept // ranks) if size and kept else None


def _keeps_every_token(text: Config) -> bool:
    kinds = text.get("layer_types")
    if any(text.get(key) for key in _OTHER_LAYOUT) or (
        isinstance(kinds, list) and any(kind != "full_attention" for kind in kinds)
    ):
        return False
    return not text.get("sliding_window") or text.get("use_sliding_window") is False


def _text(config: Config) -> Config:
    inner = config.get("text_config")
    return inner if isinstance(inner, Mapping) else config


def _whole(config: Config, key: str) -> int | None:
    value = config.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
