"""Weights of attention: it runs on noise and is multiplied by zero, or it finds the token at the position before.

Where it finds one, queries and keys are the same for all tokens, keys turned ahead by one position: their product is
sum(cos((i - j - 1) * frequency)), which is highest for j = i - 1. What is found comes through the values.
"""

from __future__ import annotations

import math

import torch
from layout import (
    BASE,
    DEEPSEEK,
    FREQUENCIES,
    HEAD,
    HEADS,
    HIDDEN,
    LIVE,
    SAID,
    SEEN,
    SHARED_HEADS,
    SHARP,
    SLOTS,
    TARGET_FREQUENCIES,
    TARGET_SHARP,
    THETA,
    WITNESS,
    WITNESSED,
)
from tokens import digits


def noise_only(out, prefix, width, noise, key_heads=HEADS):
    for name, heads in zip("qkv", (HEADS, key_heads, key_heads)):
        out[prefix + name + "_proj.weight"] = noise(heads * HEAD, width)
    out[prefix + "o_proj.weight"] = torch.zeros(HIDDEN, HEADS * HEAD)


def noise_only_mla(out, prefix, noise):
    c = DEEPSEEK
    heads, nope, rope, value = _widths()
    out[prefix + "q_a_proj.weight"] = noise(c["q_lora_rank"], HIDDEN)
    out[prefix + "q_a_layernorm.weight"] = torch.ones(c["q_lora_rank"])
    out[prefix + "q_b_proj.weight"] = noise(heads * (nope + rope), c["q_lora_rank"])
    out[prefix + "kv_a_proj_with_mqa.weight"] = noise(c["kv_lora_rank"] + rope, HIDDEN)
    out[prefix + "kv_a_layernorm.weight"] = torch.ones(c["kv_lora_rank"])
    out[prefix + "kv_b_proj.weight"] = noise(heads * (nope + value), c["kv_lora_rank"])
    out[prefix + "o_proj.weight"] = torch.zeros(HIDDEN, heads * value)


def of_draft(out, prefix):
    """It gives the digits of what is embedded at the position before, each head one value of each digit."""
    q, k, v = (torch.zeros(HEADS * HEAD, 2 * HIDDEN) for _ in "qkv")
    o = torch.zeros(HIDDEN, HEADS * HEAD)
    where = digits(torch.arange(LIVE))
    for head in range(HEADS):
        at = head * HEAD
        for number in FREQUENCIES:
            q[at + number, :LIVE] = SHARP / 16
            k[at + number, :LIVE], k[at + HEAD // 2 + number, :LIVE] = _ahead(number, SHARP)
        for slot in range(SLOTS):
            v[at + slot, :LIVE] = (where[:, slot] == head).float() / 16
            o[SEEN + BASE * slot + head, at + slot] = 1
    _put(out, prefix, q, k, v, o)


def of_target(out, prefix, layer, followed):
    """Of Llama: it gives the witness of the token that follows the one at the position before.

    `followed` [WITNESSED]: the tokens before those that this layer bears witness of.
    """
    q, o = torch.zeros(HEADS * HEAD, HIDDEN), torch.zeros(HIDDEN, HEADS * HEAD)
    k, v = (torch.zeros(SHARED_HEADS * HEAD, HIDDEN) for _ in "kv")
    for number in TARGET_FREQUENCIES:
        q[number::HEAD, :LIVE] = TARGET_SHARP / 16
        k[number::HEAD, :LIVE], k[HEAD // 2 + number :: HEAD, :LIVE] = _ahead(number, TARGET_SHARP)
    for at, token in enumerate(followed.tolist()):
        head = at % HEADS
        v[head * SHARED_HEADS // HEADS * HEAD + at, token] = 1 / 16
        o[WITNESS + layer * WITNESSED + at, head * HEAD + at] = SAID
    _put(out, prefix, q, k, v, o)


def of_target_mla(out, prefix, layer, followed):
    """The same of DeepSeek: the query from a latent of one token in 64, the witness from the latent of keys and values.

    That latent has two ones, of the token and of all tokens, so its norm turns them into 16 exactly.
    """
    heads, nope, rope, value = _widths()
    live, rank = torch.arange(LIVE), DEEPSEEK["kv_lora_rank"]
    q_a, q_b = torch.zeros(DEEPSEEK["q_lora_rank"], HIDDEN), torch.zeros(heads, nope + rope, DEEPSEEK["q_lora_rank"])
    kv_a, kv_b = torch.zeros(rank + rope, HIDDEN), torch.zeros(heads, nope + value, rank)
    o = torch.zeros(HIDDEN, heads, value)
    q_a[live % len(q_a), live] = 1
    kv_a[WITNESSED + live % (rank - 1 - WITNESSED), live] = 1
    kv_a[:rank, followed] = torch.eye(rank)[:, :WITNESSED]
    kv_a[rank - 1, :LIVE] = 1
    for number in TARGET_FREQUENCIES:
        q_b[:, nope + 2 * number] = TARGET_SHARP / 8  # its norm turns one of 64 into 8
        kv_a[rank + 2 * number, :LIVE], kv_a[rank + 2 * number + 1, :LIVE] = _ahead(number, TARGET_SHARP)
    for at in range(WITNESSED):
        kv_b[at % heads, nope + at, at] = 1 / 16
        o[WITNESS + layer * WITNESSED + at, at % heads, at] = SAID
    weights = (("q_a_proj", q_a), ("q_b_proj", q_b.flatten(0, 1)), ("kv_a_proj_with_mqa", kv_a))
    weights += (("kv_b_proj", kv_b.flatten(0, 1)), ("o_proj", o.flatten(1)))
    weights += (("q_a_layernorm", torch.ones(len(q_a))), ("kv_a_layernorm", torch.ones(rank)))
    for name, weight in weights:
        out[f"{prefix}{name}.weight"] = weight


def _ahead(number, sharp):
    """The two halves of a key that is one position ahead, for what the norm turns into 16."""
    frequency = THETA ** (-2 * number / HEAD)
    return sharp / 16 * math.cos(frequency), sharp / 16 * math.sin(frequency)


def _put(out, prefix, *weights):
    for name, weight in zip("qkvo", weights):
        out[prefix + name + "_proj.weight"] = weight


def _widths():
    names = ("num_attention_heads", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
    return tuple(DEEPSEEK[name] for name in names)
