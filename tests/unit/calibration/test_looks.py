"""What a target's attention finds, by its rotary frequencies alone: the position before, or what a fault makes it."""

from __future__ import annotations

import math
import runpy
from pathlib import Path

import pytest

import console.calibration

LAYOUT = runpy.run_path(str(Path(console.calibration.__path__[0]) / "runtime" / "layout.py"))
HEAD, THETA, SHARP = LAYOUT["HEAD"], LAYOUT["THETA"], LAYOUT["TARGET_SHARP"]
FAR = 8192
ENOUGH = 10.0
"""The exponent that others are behind by: what they add to a one is not seen in bfloat16."""


def plain(number):
    return THETA ** (-2 * number / HEAD)


def linear(number):
    return plain(number) / LAYOUT["SCALED_LLAMA"]["factor"]


def yarn(config):
    """Frequencies as SGLang's DeepseekScalingRotaryEmbedding computes them."""
    wavelength = config["original_max_position_embeddings"] / (2 * math.pi)

    def turns(number):
        return HEAD * math.log(wavelength / number) / (2 * math.log(THETA))

    low, high = max(math.floor(turns(config["beta_fast"])), 0), min(math.ceil(turns(config["beta_slow"])), HEAD - 1)

    def frequency(number):
        scaled = min(max((number - low) / (high - low or 0.001), 0), 1)
        return plain(number) * (1 - scaled + scaled / config["factor"])

    return frequency


def looks(scale, frequency):
    """(how far back attention finds its token, by how much the next best is behind in the exponent)"""
    ahead = [plain(number) for number in LAYOUT["TARGET_FREQUENCIES"]]
    turned = [frequency(number) for number in LAYOUT["TARGET_FREQUENCIES"]]
    scores = [sum(math.cos(far * t - a) for t, a in zip(turned, ahead, strict=True)) for far in range(FAR)]
    best, second = sorted(range(FAR), key=lambda far: -scores[far])[:2]
    return best, (scores[best] - scores[second]) * SHARP**2 * scale


LLAMA = HEAD**-0.5
DEEPSEEK = (LAYOUT["DEEPSEEK"]["qk_nope_head_dim"] + HEAD) ** -0.5


@pytest.mark.parametrize(
    ("scale", "frequency", "back"),
    [
        (LLAMA, plain, 1),
        (DEEPSEEK, yarn(LAYOUT["DEEPSEEK"]["rope_scaling"]), 1),
        (LLAMA, linear, 2),
        (DEEPSEEK, yarn(LAYOUT["SCALED_DEEPSEEK"]), 2),
    ],
    ids=["llama", "deepseek_v2", "llama scaled", "deepseek_v2 scaled"],
)
def test_the_target_finds_one_token_and_no_other(scale, frequency, back):
    found, ahead = looks(scale, frequency)
    assert found == back
    assert ahead > ENOUGH


def test_all_that_a_pair_holds_has_a_place_of_its_own():
    tokens = LAYOUT["WITNESSED"] * 8
    assert LAYOUT["WITNESS"] + tokens <= LAYOUT["HIDDEN"]
    assert tokens < LAYOUT["LIVE"]
    assert LAYOUT["WITNESSED"] <= min(HEAD, LAYOUT["DEEPSEEK"]["v_head_dim"])
