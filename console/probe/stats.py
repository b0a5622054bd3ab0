"""Owns the statistics of a comparison: Welch's t on the log of block throughput, and Student's t without scipy.

The unit is the block: requests inside a block share clocks, cache and batch. Simulated at CV 4 %, a bootstrap over
three to ten blocks covers 81 to 91 % where it says 95; Welch covers 94 to 97 % at every number of blocks. What was
simulated, and how it is done again, stands in docs/probes.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

Verdict = Literal["faster", "slower", "cant_tell"]

CONFIDENCE = 0.95
POWER = 0.90
"""With this chance a difference of the detectable size would have been found."""

MIN_BLOCKS = 5
"""Blocks that an adaptive run measures at least. Of three the spread is too often small by chance, and the run stops
just then: up to 7.5 % of false alarms against 6.4 (docs/probes.md)."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """Candidate against baseline. All differences are relative: -0.1 is ten per cent slower."""

    verdict: Verdict
    difference: float | None
    """Ratio of geometric means, less one; None where a side has no block."""
    interval: tuple[float, float] | None
    """95 %; None with fewer than two blocks on a side."""
    detectable: float | None
    """The smallest slowdown, as a positive number, that this many blocks of this spread find nine times in ten."""
    n: tuple[int, int]
    """Blocks of baseline and candidate."""
    why: str = ""


def contrast(baseline: Sequence[float], candidate: Sequence[float]) -> Contrast:
    """Compare two runs by the throughput of their blocks (all positive)."""
    n = (len(baseline), len(candidate))
    logs_a, logs_b = [math.log(x) for x in baseline], [math.log(x) for x in candidate]
    if not all(n):
        return Contrast("cant_tell", None, None, None, n, "a run has no complete block")
    shift = _mean(logs_b) - _mean(logs_a)
    if min(n) < 2:
        return Contrast("cant_tell", math.expm1(shift), None, None, n, "each side needs two blocks or more")
    error, freedom = _welch(logs_a, logs_b)
    margin = t_quantile((1 + CONFIDENCE) / 2, freedom) * error
    findable = margin + t_quantile(POWER, freedom) * error
    low, high = shift - margin, shift + margin
    verdict: Verdict = "faster" if low > 0 else "slower" if high < 0 else "cant_tell"
    why = "the difference is within the noise of the blocks" if verdict == "cant_tell" else ""
    interval = (math.expm1(low), math.expm1(high))
    return Contrast(verdict, math.expm1(shift), interval, -math.expm1(-findable), n, why)


def half_width(baseline: Sequence[float] | None, blocks: Sequence[float]) -> float | None:
    """Return the relative half-width of the 95 % interval, 0.02 for ±2 %; None below two blocks on a side.

    With a baseline it is the interval of the difference, without one that of the run's own throughput.
    """
    sides = [blocks] if baseline is None else [baseline, blocks]
    if min(map(len, sides)) < 2:
        return None
    logs = [[math.log(x) for x in side] for side in sides]
    if len(logs) == 1:
        error, freedom = math.sqrt(_variance(logs[0]) / len(blocks)), float(len(blocks) - 1)
    else:
        error, freedom = _welch(logs[0], logs[1])
    return math.expm1(t_quantile((1 + CONFIDENCE) / 2, freedom) * error)


def enough(baseline: Sequence[float] | None, blocks: Sequence[float], wanted: float) -> bool:
    """Say whether an adaptive run may stop: MIN_BLOCKS are there, and the interval is as narrow as `wanted`.

    It looks at the width alone, never at the verdict or at the difference: who adds blocks until a difference shows
    will see one. Stopping so called every seventh comparison of a server with itself different (docs/probes.md).
    """
    width = half_width(baseline, blocks)
    return width is not None and len(blocks) >= MIN_BLOCKS and width <= wanted


def t_cdf(t: float, freedom: float) -> float:
    """Return P(T <= t) of Student's t with `freedom` degrees of freedom."""
    tail = 0.5 * incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t))
    return 1 - tail if t > 0 else tail


def t_quantile(p: float, freedom: float) -> float:
    """Return t with P(T <= t) = p, for 0 < p < 1, by Newton's steps from a near guess."""
    if p <= 0.5:
        return -t_quantile(1 - p, freedom) if p < 0.5 else 0.0
    t = _near_quantile(p, freedom)
    for _ in range(200):
        new = t - (t_cdf(t, freedom) - p) / _t_density(t, freedom)
        if new <= 0:  # right of the quantile the density falls, and a step to the left may go too far
            new = t / 2
        if abs(new - t) <= 1e-13 * t:
            break
        t = new
    return t


def _near_quantile(p: float, freedom: float) -> float:
    """The normal quantile with two terms of its expansion in 1 / freedom (Abramowitz and Stegun 26.7.5)."""
    z = NormalDist().inv_cdf(p)
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def _t_density(t: float, freedom: float) -> float:
    scale = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - 0.5 * math.log(freedom * math.pi)
    return math.exp(scale - (freedom + 1) / 2 * math.log1p(t * t / freedom))


def incomplete_beta(a: float, b: float, x: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b), 0 <= x <= 1, by its continued fraction."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast on the other side
        return 1 - incomplete_beta(b, a, 1 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    return front * _beta_fraction(a, b, x) / a


def _beta_fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of I_x(a, b) by Lentz's method (Abramowitz and Stegun 26.5.8)."""
    tiny = 1e-300
    c, d = 1.0, 1 / _away_from_zero(1 - (a + b) * x / (a + 1), tiny)
    value = d
    for m in range(1, 1000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / _away_from_zero(1 + term * d, tiny)
            c = _away_from_zero(1 + term / c, tiny)
            value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return value


def _away_from_zero(value: float, tiny: float) -> float:
    return value if abs(value) > tiny else tiny


def _welch(a: Sequence[float], b: Sequence[float]) -> tuple[float, float]:
    """Return the standard error of mean(b) - mean(a) and Welch-Satterthwaite's degrees of freedom."""
    share_a, share_b = _variance(a) / len(a), _variance(b) / len(b)
    total = share_a + share_b
    if total <= 0:  # blocks that agree to the last digit
        return 0.0, float(len(a) + len(b) - 2)
    freedom = total**2 / (share_a**2 / (len(a) - 1) + share_b**2 / (len(b) - 1))
    return math.sqrt(total), freedom


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _variance(values: Sequence[float]) -> float:
    mean = _mean(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
