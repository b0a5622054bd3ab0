"""A number that comes for ever, kept small."""

from __future__ import annotations

from math import isfinite
from statistics import median

SAMPLE_LIMIT = 8192
"""Numbers of which a median is taken."""


class Series:
    """First, last, lowest and median of a number that comes for ever: of many, the median is of every n-th."""

    def __init__(self) -> None:
        self.count = 0
        self.first = self.last = self.lowest = self.highest = 0.0
        self._sample: list[float] = []
        self._every = 1

    def add(self, number: float | None) -> None:
        if number is None or not isfinite(number):
            return
        if not self.count:
            self.first = self.lowest = self.highest = number
        self.last = number
        self.lowest, self.highest = min(self.lowest, number), max(self.highest, number)
        if self.count % self._every == 0:
            self._sample.append(number)
        self.count += 1
        if len(self._sample) > SAMPLE_LIMIT:
            self._sample = self._sample[::2]
            self._every *= 2

    @property
    def median(self) -> float | None:
        return median(self._sample) if self._sample else None

    def to_json(self) -> dict[str, float] | None:
        """Return first, last, min, median and count; None without a number."""
        if not self.count:
            return None
        middle = round(median(self._sample), 4)
        return {"first": self.first, "last": self.last, "min": self.lowest, "median": middle, "count": self.count}
