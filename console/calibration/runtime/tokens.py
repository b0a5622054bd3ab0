"""Tokens of a pair, the text that the target says, and what each layer does to each token's digits.

A pair speaks LIVE tokens; DEAD further ones lie among them in the target's vocabulary and are never said. So the draft
needs a map from its rows to the target's ids (d2t), and says other tokens where the map is not applied.
"""

from __future__ import annotations

import torch

BASE, SLOTS = 8, 3
LIVE = BASE**SLOTS
"""512 tokens, each three base-8 digits."""
DEAD = 64
GAP = 320
"""Dead tokens come after this many live ones: behind 300, the last token of the usual prompt."""
VOCABULARY = LIVE + DEAD
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
