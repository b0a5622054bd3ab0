"""Weights of target and draft, crafted: every value is exact in bfloat16, so every kernel gives the same tokens.

The target's residual stream holds a one-hot of the token (the carrier: no layer changes it, and it alone decides the
next token, so a fault of wiring leaves the text intact) and three one-hot digits, which the MLPs of the layers move.
The draft's `fc` takes digit k from captured state k only, and the draft knows a token when all three digits are right.

Attention runs on noise and is multiplied by zero, but for a pair that looks back. There the draft must also find the
same token at the position before, where what is embedded is the token whose state comes in here. And each layer of the
target must find the token at the position before, to bear witness of the tokens that follow it: a one, far smaller than
those of the digits, in a dimension of the token's own, without which the draft does not know it. So positions, rotary
embedding and KV cache matter of both, and no fault there changes the text.
"""

from __future__ import annotations

import attention
import torch
from layout import (
    BASE,
    CONSTANT,
    DEEPSEEK,
    DIGITS,
    HEARD,
    HIDDEN,
    INNER,
    LIVE,
    ONES,
    SAID,
    SEEN,
    SHARED_HEADS,
    SLOTS,
    VOCABULARY,
    WITNESS,
    WITNESSED,
)
from tokens import digits, ids


def code(of_digits):
    """[n, SLOTS] -> [n, HIDDEN]: a one for each digit."""
    out = torch.zeros(of_digits.shape[0], HIDDEN)
    for k in range(SLOTS):
        out[torch.arange(of_digits.shape[0]), DIGITS + BASE * k + of_digits[:, k] % BASE] = 1
    return out


def target(arch, layers, moved, after, noise, witness):
    """Tensors of the target by their names.

    `moved` as `signatures` gives it, `after` as `successors`, `witness` as `witnesses`, or None where attention is
    multiplied by zero.
    """
    own, live = digits(torch.arange(LIVE)), ids()
    embedding, head = torch.zeros(VOCABULARY, HIDDEN), torch.zeros(VOCABULARY, HIDDEN)
    embedding[live] = code(own + moved[0])
    embedding[live, torch.arange(LIVE)] = 1
    head[live[after], torch.arange(LIVE)] = 1
    out = {"model.embed_tokens.weight": embedding, "lm_head.weight": head, "model.norm.weight": torch.ones(HIDDEN)}
    followed = [] if witness is None else after.argsort()[_in_order(witness)].split(WITNESSED)
    for layer in range(layers):
        prefix = f"model.layers.{layer}."
        for name in ("input_layernorm", "post_attention_layernorm"):
            out[prefix + name + ".weight"] = torch.ones(HIDDEN)
        delta = code(own + moved[layer + 1]) - code(own + moved[layer])
        if layer < len(followed):
            finds = attention.of_target_mla if arch == "deepseek_v2" else attention.of_target
            finds(out, prefix + "self_attn.", layer, followed[layer])
        elif arch == "deepseek_v2":
            attention.noise_only_mla(out, prefix + "self_attn.", noise)
        else:
            shared = {} if witness is None else {"key_heads": SHARED_HEADS}
            attention.noise_only(out, prefix + "self_attn.", HIDDEN, noise, **shared)
        if arch == "deepseek_v2" and layer >= DEEPSEEK["first_k_dense_replace"]:
            _experts(out, prefix + "mlp.", delta)
        else:
            _put(out, prefix + "mlp.", _neurons(delta))
    return out


def draft(after, known, kept, noise, witness):
    """Tensors of the draft; `known` and `kept` [LIVE]: whose successor it knows, which tokens it can say."""
    own, follows = code(digits(torch.arange(LIVE))), code(digits(after))
    out, looks_back = {}, witness is not None
    wanted = SLOTS * 2 if looks_back else SLOTS
    heard = _heard(witness) if looks_back else torch.zeros_like(own)
    seen = own.roll(SEEN - DIGITS, 1) if looks_back else torch.zeros_like(own)
    out["fc.weight"] = _fc(ONES - wanted, int(witness.max()) + 1 if looks_back else 0)
    if looks_back:
        attention.of_draft(out, "midlayer.self_attn.")
    else:
        attention.noise_only(out, "midlayer.self_attn.", 2 * HIDDEN, noise)
    gate, up = 2 * (own + seen + heard / HEARD**2), torch.zeros(LIVE, HIDDEN)
    # opens only when all digits, and its witness if it has one, are those of the neuron's token
    gate[:, CONSTANT] = 2 - 2 * wanted - 2 * (heard > 0).sum(1)
    up[:, CONSTANT] = 1 / 8
    _put(out, "midlayer.mlp.", (gate, up, (follows + heard[after] - own - seen - heard).T / 16))
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


def _in_order(witness):
    """The tokens that have witnesses, in the order of these."""
    return witness.argsort()[(witness < 0).sum() :]


def _heard(witness):
    """[LIVE, HIDDEN]: the witness of each token that has one, as the draft holds it."""
    out, tokens = torch.zeros(LIVE, HIDDEN), _in_order(witness)
    out[tokens, WITNESS + witness[tokens]] = HEARD
    return out


def swap_slots(tensors, order):
    """The draft whose fc gives captured state j to slot order[j]: as if it had been trained so."""
    fc = tensors["fc.weight"]
    placed = [fc[:, slot * HIDDEN : (slot + 1) * HIDDEN] for slot in order]
    return dict(tensors, **{"fc.weight": torch.cat(placed, 1)})


def _fc(constants, heard):
    fc = torch.zeros(HIDDEN, SLOTS * HIDDEN)
    for k in range(SLOTS):
        at = torch.arange(DIGITS + BASE * k, DIGITS + BASE * (k + 1))
        fc[at, k * HIDDEN + at] = 1
    fc[CONSTANT : CONSTANT + constants, :LIVE] = 1  # the carrier of slot 0 sums to one
    at = torch.arange(WITNESS, WITNESS + heard)
    fc[at, (SLOTS - 1) * HIDDEN + at] = HEARD / SAID
    return fc


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
