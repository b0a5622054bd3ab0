"""Tokens of a pair, the text that the target says, and what each layer does to each token's digits.

A pair speaks LIVE tokens; DEAD further ones lie among them in the target's vocabulary and are never said. So the draft
needs a map from its rows to the target's ids (d2t), and says other tokens where the map is not applied.
"""

from __future__ import annotations

import torch
from layout import BASE, DEAD, GAP, LAST, LIVE, SLOTS, WITNESSED

LOW, HIGH = 0.2, 0.5
"""Smallest and largest share of tokens whose digit a layer moves."""


def ids():
    """The target's id of each live token, rising."""
    live = torch.arange(LIVE)
    return live + DEAD * (live >= GAP)


def digits(tokens):
    """[n] -> [n, SLOTS]: base-8 digits, the lowest first."""
    return torch.stack([tokens // BASE**k % BASE for k in range(SLOTS)], -1)


def successors(generator):
    """[LIVE]: what comes after each token. One cycle: the greedy text visits every token before it repeats."""
    order = torch.randperm(LIVE, generator=generator)
    after = torch.empty(LIVE, dtype=torch.long)
    after[order] = order.roll(-1)
    return after


def signatures(layers, trained, generator):
    """[layers + 1, LIVE, SLOTS]: how far each digit is from its own value before layer 0 and after each layer.

    Each layer moves each digit of tokens of its own, another share for each, so what is left of the digits is a
    signature of the layer. After the layer that slot k was trained on, digit k reads true.
    """
    share = torch.linspace(LOW, HIGH, layers * SLOTS)[torch.randperm(layers * SLOTS, generator=generator)]
    share = share.view(layers, SLOTS)
    steps = torch.zeros(layers + 1, LIVE, SLOTS, dtype=torch.long)
    for layer in range(layers):
        for k in range(SLOTS):
            chosen = torch.randperm(LIVE, generator=generator)[: round(float(share[layer, k]) * LIVE)]
            steps[layer + 1, chosen, k] = 1
    moved = steps.cumsum(0)
    for k in range(SLOTS):
        moved[:, :, k] -= moved[trained[k] + 1, :, k].clone()
    return moved % BASE


def witnesses(trained, generator):
    """[LIVE]: the number of each token's witness, or -1: the draft does not know such a token without it.

    Layer l gives witnesses l * WITNESSED and on, to the tokens that follow what its attention finds: the token at the
    position before. The last slot, which is trained on the latest layer, hands them to the draft. The prompt's last
    token has none: what stands before it in the prompt is not what stands before it in the text.
    """
    found, number = torch.full((LIVE,), -1), WITNESSED * (trained[-1] + 1)
    order = torch.randperm(LIVE, generator=generator)
    found[order[order != LAST][:number]] = torch.arange(number)
    return found
