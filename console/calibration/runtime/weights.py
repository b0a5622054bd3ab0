"""Weights of target and draft, crafted: every value is exact in bfloat16, so every kernel gives the same tokens.

The target's residual stream holds a one-hot of the token (the carrier: no layer changes it, and it alone decides the
next token, so a fault of wiring leaves the text intact) and three one-hot digits, which the MLPs of the layers move.
The draft's `fc` takes digit k from captured state k only, and the draft knows a token when all three digits are right.

Attention runs on noise and is multiplied by zero, but for a draft that looks back: there it must also find the same
token at the position before, where what is embedded is the token whose state comes in here. So its positions, rotary
embedding and KV cache matter.
"""

from __future__ import annotations

import math

import torch
from tokens import BASE, LIVE, SLOTS, VOCABULARY, digits, ids

HIDDEN, INNER = 1024, 512
DIGITS = LIVE
"""Dimensions from here on hold the digits, eight for each slot."""
SEEN = DIGITS + BASE * SLOTS
"""In a draft that looks back: the digits of the token that its attention found."""
CONSTANT = SEEN + BASE * SLOTS
"""In the draft only, from here on: always one."""
ONES = 16
"""So many ones, constant ones too, are given to the draft's MLP: its norm turns them into 8, exactly."""
HEADS, HEAD = 8, 64
THETA = 10000.0
FREQUENCIES, SHARP = 8, 14.0
"""How many rotary frequencies the draft looks by, and how long its queries and keys are in each: the position before is
ahead of every other by more than 20 in the exponent of the softmax, up to 8192 positions."""

DEEPSEEK = {
    "q_lora_rank": 64,
    # The four widths of DeepSeek-V3: kernels for MLA are built for no others.
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "num_attention_heads": HEADS,
    "num_key_value_heads": HEADS,
    "n_routed_experts": 4,
    "n_shared_experts": 1,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": INNER,
    "first_k_dense_replace": 1,
    "moe_layer_freq": 1,
    "n_group": 1,
    "topk_group": 1,
    "norm_topk_prob": True,
    "scoring_func": "sigmoid",
    "topk_method": "noaux_tc",
    "routed_scaling_factor": 2.0,
    "num_nextn_predict_layers": 0,
    "ep_size": 1,
    # As in DeepSeek-V3; SGLang's rope on the CPU asserts that there is one.
    "rope_scaling": {
        "type": "yarn",
        "factor": 2,
        "original_max_position_embeddings": 4096,
        "beta_fast": 32,
        "beta_slow": 1,
        "mscale": 1.0,
        "mscale_all_dim": 1.0,
    },
}


def code(of_digits):
    """[n, SLOTS] -> [n, HIDDEN]: a one for each digit."""
    out = torch.zeros(of_digits.shape[0], HIDDEN)
    for k in range(SLOTS):
        out[torch.arange(of_digits.shape[0]), DIGITS + BASE * k + of_digits[:, k] % BASE] = 1
    return out


def target(arch, layers, moved, after, noise):
    """Tensors of the target by their names; `moved` as `signatures` gives it, `after` as `successors`."""
    own, live = digits(torch.arange(LIVE)), ids()
    embedding, head = torch.zeros(VOCABULARY, HIDDEN), torch.zeros(VOCABULARY, HIDDEN)
    embedding[live] = code(own + moved[0])
    embedding[live, torch.arange(LIVE)] = 1
    head[live[after], torch.arange(LIVE)] = 1
    out = {"model.embed_tokens.weight": embedding, "lm_head.weight": head, "model.norm.weight": torch.ones(HIDDEN)}
    for layer in range(layers):
        prefix = f"model.layers.{layer}."
        for name in ("input_layernorm", "post_attention_layernorm"):
            out[prefix + name + ".weight"] = torch.ones(HIDDEN)
        delta = code(own + moved[layer + 1]) - code(own + moved[layer])
        attention = _mla if arch == "deepseek_v2" else _attention
        attention(out, prefix + "self_attn.", HIDDEN, noise)
        if arch == "deepseek_v2" and layer >= DEEPSEEK["first_k_dense_replace"]:
            _experts(out, prefix + "mlp.", delta)
        else:
            _put(out, prefix + "mlp.", _neurons(delta))
    return out


def draft(after, known, kept, noise, looks_back):
    """Tensors of the draft; `known` and `kept` [LIVE]: whose successor it knows, which tokens it can say."""
    own, follows = code(digits(torch.arange(LIVE))), code(digits(after))
    wanted = SLOTS * 2 if looks_back else SLOTS
    seen = own.roll(SEEN - DIGITS, 1) if looks_back else torch.zeros_like(own)
    out = {"fc.weight": _fc(ONES - wanted)}
    if looks_back:
        _look_back(out, "midlayer.self_attn.")
    else:
        _attention(out, "midlayer.self_attn.", 2 * HIDDEN, noise)
    gate, up = 2 * (own + seen), torch.zeros(LIVE, HIDDEN)
    gate[:, CONSTANT] = 2 - 2 * wanted  # opens only when all digits are those of the neuron's token
    up[:, CONSTANT] = 1 / 8
    _put(out, "midlayer.mlp.", (gate, up, (follows - own - seen).T / 16))
    for name in ("midlayer.input_layernorm", "midlayer.hidden_norm", "midlayer.post_attention_layernorm", "norm"):
        out[name + ".weight"] = torch.ones(HIDDEN)
    guess = after.clone()
    wrong = torch.nonzero(~known).flatten()
    guess[wrong] = guess[wrong.roll(1)]
    head = torch.zeros(LIVE, HIDDEN)
    head[guess] = _weighed(own)
    said = torch.nonzero(kept).flatten()
    out["lm_head.weight"] = head[said]
    out["d2t"] = ids()[said] - torch.arange(len(said))
    out["t2d"] = torch.zeros(VOCABULARY, dtype=torch.bool).index_fill(0, ids()[said], True)
    return out


def swap_slots(tensors, order):
    """The draft whose fc gives captured state j to slot order[j]: as if it had been trained so."""
    fc = tensors["fc.weight"]
    placed = [fc[:, slot * HIDDEN : (slot + 1) * HIDDEN] for slot in order]
    return dict(tensors, **{"fc.weight": torch.cat(placed, 1)})


def _fc(constants):
    fc = torch.zeros(HIDDEN, SLOTS * HIDDEN)
    for k in range(SLOTS):
        at = torch.arange(DIGITS + BASE * k, DIGITS + BASE * (k + 1))
        fc[at, k * HIDDEN + at] = 1
    fc[CONSTANT : CONSTANT + constants, :LIVE] = 1  # the carrier of slot 0 sums to one
    return fc


def _look_back(out, prefix):
    """Attention that gives the token that is embedded at the position before, each head one value of each digit.

    Queries and keys are the same for all tokens, keys turned ahead by one position: their product is
    sum(cos((i - j - 1) * frequency)), which is highest for j = i - 1.
    """
    q, k, v = (torch.zeros(HEADS * HEAD, 2 * HIDDEN) for _ in "qkv")
    o = torch.zeros(HIDDEN, HEADS * HEAD)
    where = digits(torch.arange(LIVE))
    for head in range(HEADS):
        at = head * HEAD
        for number in range(FREQUENCIES):
            frequency = THETA ** (-2 * number / HEAD)
            q[at + number, :LIVE] = SHARP / 16
            k[at + number, :LIVE] = SHARP / 16 * math.cos(frequency)
            k[at + HEAD // 2 + number, :LIVE] = SHARP / 16 * math.sin(frequency)
        for slot in range(SLOTS):
            v[at + slot, :LIVE] = (where[:, slot] == head).float() / 16
            o[SEEN + BASE * slot + head, at + slot] = 1
    for name, weight in zip("qkvo", (q, k, v, o)):
        out[prefix + name + "_proj.weight"] = weight


def _weighed(own):
    """Rows of the head. Digits weigh differently and each row has a small handicap of its own: there is never a tie,
    not even for a token whose successor the draft cannot say.
    """
    rows = torch.zeros(LIVE, HIDDEN)
    for k, weight in enumerate((1.0, 1.25, 1.5)):
        at = slice(DIGITS + BASE * k, DIGITS + BASE * (k + 1))
        rows[:, at] = own[:, at] * weight
    rows[:, CONSTANT] = -digits(torch.arange(LIVE))[:, 0].float() / BASE / 2
    return rows


def _neurons(delta, share=1.0, tokens=None):
    """gate, up, down of an MLP that adds `share * delta[t]` when the carrier holds t. The norm turns a one into 16."""
    at = torch.arange(LIVE)
    gate, up, down = torch.zeros(INNER, HIDDEN), torch.zeros(INNER, HIDDEN), torch.zeros(HIDDEN, INNER)
    gate[at, at], up[at, at] = 1.0, 1 / 16  # silu(16) * 1 = 16 in bfloat16
    keep = torch.ones(LIVE) if tokens is None else tokens.float()
    down[:, at] = (delta * keep[:, None]).T * (share / 16)
    return gate, up, down


def _put(out, prefix, mlp):
    for name, weight in zip(("gate", "up", "down"), mlp):
        out[prefix + name + "_proj.weight"] = weight


def _experts(out, prefix, delta):
    """The shared expert moves digit 0; digits 1 and 2 are moved by the two experts that a token is routed to (t and
    t + 1 modulo their number: equal scores, so weights are 1/2 each, times the scaling factor). A broken router shows.
    """
    first = torch.zeros(HIDDEN)
    first[DIGITS : DIGITS + BASE] = 1
    _put(out, prefix + "shared_experts.", _neurons(delta * first))
    number, live = DEEPSEEK["n_routed_experts"], torch.arange(LIVE)
    router = torch.zeros(number, HIDDEN)
    for expert in range(number):
        mine = (live % number == expert) | ((live + 1) % number == expert)
        router[expert, :LIVE] = mine.float() / 4
        share = 1 / DEEPSEEK["routed_scaling_factor"]
        _put(out, prefix + f"experts.{expert}.", _neurons(delta * (1 - first), share, mine))
    out[prefix + "gate.weight"] = router
    out[prefix + "gate.e_score_correction_bias"] = torch.zeros(number)


def _attention(out, prefix, width, noise):
    """It runs on noise, and what comes of it is multiplied by zero."""
    for name in "qkv":
        out[prefix + name + "_proj.weight"] = noise(HEADS * HEAD, width)
    out[prefix + "o_proj.weight"] = torch.zeros(HIDDEN, HEADS * HEAD)


def _mla(out, prefix, width, noise):
    c = DEEPSEEK
    heads, nope, rope, value = (
        c[key] for key in ("num_attention_heads", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
    )
    out[prefix + "q_a_proj.weight"] = noise(c["q_lora_rank"], width)
    out[prefix + "q_a_layernorm.weight"] = torch.ones(c["q_lora_rank"])
    out[prefix + "q_b_proj.weight"] = noise(heads * (nope + rope), c["q_lora_rank"])
    out[prefix + "kv_a_proj_with_mqa.weight"] = noise(c["kv_lora_rank"] + rope, width)
    out[prefix + "kv_a_layernorm.weight"] = torch.ones(c["kv_lora_rank"])
    out[prefix + "kv_b_proj.weight"] = noise(heads * (nope + value), c["kv_lora_rank"])
    out[prefix + "o_proj.weight"] = torch.zeros(HIDDEN, heads * value)
