"""Student's t against printed tables, and verdicts whose error rates are measured."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.probe.stats import MIN_BLOCKS, contrast, enough, half_width, incomplete_beta, t_cdf, t_quantile
from tests.bench import verdict


@pytest.mark.parametrize(
    ("p", "freedom", "value"),
    [
        (0.975, 1, 12.706204736),
        (0.975, 2, 4.302652730),
        (0.975, 4, 2.776445105),
        (0.975, 8, 2.306004135),
        (0.975, 30, 2.042272456),
        (0.975, 1e6, 1.959966),
        (0.9, 8, 1.396815310),
        (0.995, 5, 4.032142984),
        (0.5, 3, 0.0),
        (0.025, 8, -2.306004135),
    ],
)
def test_quantiles_of_the_printed_tables(p, freedom, value):
    assert t_quantile(p, freedom) == pytest.approx(value, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(("t", "freedom"), [(0.3, 2.5), (3.5746548, 2.5), (2.0, 4.0754), (6.0, 1.1)])
def test_fractional_freedoms_agree_with_the_integral_of_the_density(t, freedom):
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi)
    step = t / 2000
    heights = [scale * (1 + (i * step) ** 2 / freedom) ** (-(freedom + 1) / 2) for i in range(2001)]
    simpson = heights[0] + heights[-1] + sum((4 if i % 2 else 2) * heights[i] for i in range(1, 2000))
    assert t_cdf(t, freedom) == pytest.approx(0.5 + simpson * step / 3, abs=1e-10)


@given(st.floats(0.001, 0.999), st.floats(0.6, 500))
def test_the_quantile_undoes_the_distribution(p, freedom):
    assert t_cdf(t_quantile(p, freedom), freedom) == pytest.approx(p, abs=1e-9)


def test_the_incomplete_beta_at_known_points():
    assert incomplete_beta(2, 3, 0.4) == pytest.approx(0.5248)  # 6 x^2 - 8 x^3 + 3 x^4
    assert incomplete_beta(0.5, 0.5, 0.25) == pytest.approx(2 / math.pi * math.asin(0.5))
    assert incomplete_beta(5, 1, 0.7) == pytest.approx(0.7**5)
    assert (incomplete_beta(2, 2, 0), incomplete_beta(2, 2, 1)) == (0.0, 1.0)


def test_welch_against_a_worked_example():
    a, b = [math.exp(x) for x in (3.0, 4.0, 5.0)], [math.exp(x) for x in (8.0, 10.0, 12.0, 14.0)]
    found = contrast(a, b)
    # means 4 and 11; variances 1 and 20/3; error sqrt(1/3 + 5/3) = sqrt 2; freedom 4 / (1/18 + 25/27) = 4.0754…
    margin = t_quantile(0.975, 4 / (1 / 18 + 25 / 27)) * math.sqrt(2)
    assert found.difference == pytest.approx(math.expm1(7))
    assert found.interval == pytest.approx((math.expm1(7 - margin), math.expm1(7 + margin)))
    assert found.verdict == "faster"
    assert found.n == (3, 4)


def test_a_against_a_cannot_be_told_in_at_least_94_of_100_and_a_drop_of_ten_per_cent_is_found_nine_times_in_ten():
    rates = verdict.fixed(5, 0.04, times=1000)
    assert rates.false_alarms <= 0.06
    assert rates.found >= 0.90
    assert 0.07 < rates.detectable < 0.11, "about what is detected"


def test_stopping_on_the_width_raises_few_false_alarms_and_on_the_verdict_many():
    width = verdict.adaptive(verdict.by_width(0.05), 5, 0.04, times=300)
    told = verdict.adaptive(verdict.by_verdict, 5, 0.04, times=150)
    assert width.false_alarms <= 0.09
    assert told.false_alarms >= 0.10
    assert width.blocks < told.blocks


def test_the_two_ways_round_agree():
    a, b = [90.0, 92.0, 88.0], [80.0, 81.0, 79.0]
    there, back = contrast(a, b), contrast(b, a)
    assert (there.verdict, back.verdict) == ("slower", "faster")
    assert (1 + there.difference) * (1 + back.difference) == pytest.approx(1)
    assert there.detectable == pytest.approx(back.detectable)


@pytest.mark.parametrize("sides", [([90.0], [80.0, 81.0]), ([90.0, 91.0], [80.0])])
def test_one_block_gives_a_difference_but_no_interval(sides):
    found = contrast(*sides)
    assert found.verdict == "cant_tell"
    assert found.difference is not None
    assert found.interval is None
    assert "two blocks" in found.why


def test_no_block_gives_nothing():
    found = contrast([], [80.0, 81.0])
    assert (found.verdict, found.difference, found.interval) == ("cant_tell", None, None)


def test_blocks_without_any_spread_are_judged_by_their_difference():
    assert contrast([100.0] * 3, [100.0] * 3).verdict == "cant_tell"
    assert contrast([100.0] * 3, [101.0] * 3).verdict == "faster"
    one_sided = contrast([100.0] * 3, [90.0, 91.0, 89.0])
    assert one_sided.verdict == "slower"


def test_the_half_width_is_that_of_the_interval():
    a, b = [90.0, 92.0, 88.0], [80.0, 81.0, 79.0, 80.5]
    found = contrast(a, b)
    assert half_width(a, b) == pytest.approx((1 + found.interval[1]) / (1 + found.difference) - 1)
    alone = [math.exp(x) for x in (4.0, 4.2, 4.4)]
    assert half_width(None, alone) == pytest.approx(math.expm1(t_quantile(0.975, 2) * 0.2 / math.sqrt(3)))
    assert half_width(a, [80.0]) is None
    assert half_width(None, []) is None


def test_enough_looks_at_the_width_and_never_at_the_difference():
    quiet = [90.0, 90.1, 89.9, 90.2, 90.0]
    for shift in (1.0, 0.9, 0.5):
        blocks = [shift * block for block in quiet]
        assert enough(quiet, blocks, 0.02)
        assert not enough(quiet, blocks, 0.0001)
        assert not enough(quiet, blocks[: MIN_BLOCKS - 1], 0.02), "a few that agree by chance"
    assert enough(None, quiet, 0.02)
    assert not enough(None, [90.0, 120.0, 70.0, 95.0, 88.0], 0.02)
