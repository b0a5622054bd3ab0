"""Owns mean and percentiles of many values: exact, linear between ranks, as numpy's default."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Distribution:
    """Mean and percentiles of `n` values, in their unit."""

    n: int
    mean: float
    p50: float
    p99: float
    p90: float | None = None
    """None in a run that an older console stored."""
    p95: float | None = None


def distribution(values: Sequence[float]) -> Distribution | None:
    """Return mean and percentiles, None of nothing."""
    if not values:
        return None
    ranked = sorted(values)
    p50, p90, p95, p99 = (percentile(ranked, percent) for percent in (50, 90, 95, 99))
    return Distribution(len(ranked), math.fsum(ranked) / len(ranked), p50, p99, p90, p95)


def percentile(ranked: Sequence[float], percent: float) -> float:
    """Return the percentile of sorted values, linear between the two nearest ranks."""
    place = (len(ranked) - 1) * percent / 100
    low = math.floor(place)
    high = min(low + 1, len(ranked) - 1)
    return ranked[low] + (ranked[high] - ranked[low]) * (place - low)
