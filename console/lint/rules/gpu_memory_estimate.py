"""The weights, or one full context, do not fit into the static memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint import asks
from console.lint.rule import Rule
from console.units import format_bytes
from console.wiring import kv_cache

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import Launch
    from console.lint.finding import Finding

RULE = Rule(
    id="gpu-memory-estimate",
    title="The weights, or one full context, do not fit into the static memory",
    why="The load ends out of memory, or leaves a KV pool so small that long requests are refused.",
    source="SGLang: --mem-fraction-static is the share of each GPU for weights and KV pool; the cache's bytes a "
    "token follow from the config (console/wiring)",
)


def check(launch: Launch) -> Iterator[Finding]:
    asked, total, target = asks.full(launch), launch.gpu_memory_bytes, launch.target
    if not total or target is None or not target.weight_bytes or any(asked.has(flag) for flag in _OTHER_SIZE):
        return
    if target.config.get("torch_dtype", target.config.get("dtype")) == "float32":  # loaded in 16 bits
        return
    ranks = (asked.number("tp-size") or 1) * (asked.number("pp-size") or 1)
    fraction = asks.static_fraction(asked)
    static, weights = int(total * (fraction or 1.0)), target.weight_bytes // max(1, ranks)
    told = f"{format_bytes(total)} × {fraction or 1.0:g} = {format_bytes(static)}; weights "
    told += f"{format_bytes(target.weight_bytes)} / {ranks} = {format_bytes(weights)}"
    if weights >= static:
        message = f"the weights take {format_bytes(weights)} of each GPU, and {format_bytes(static)} are for them"
        yield RULE.warn(message, "Give more ranks, a quantized checkpoint or a higher share.", f"an estimate: {told}")
        return
    each = kv_cache.bytes_per_token(target.config, asked) if fraction else None
    wanted = asked.number("context-length") or kv_cache.context_length(target.config)
    if each and wanted and (static - weights) // each < wanted:
        tokens = (static - weights) // each
        message = f"the KV pool will hold about {tokens} tokens, less than one context of {wanted}"
        told += f"; rest / {each} bytes a token, the draft's cache not counted"
        yield RULE.info(message, "A longer request is refused; set --context-length to what is needed.", told)


_OTHER_SIZE = ("quantization", "cpu-offload-gb", "torchao-config", "enable-dp-attention", "dtype")
"""Flags under which a rank holds another share than the checkpoint's files tell."""
