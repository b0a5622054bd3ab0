"""A number that comes for ever, kept small: what is said of it (Series), and how it is drawn (Points)."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
        """Return first, last, min, median, max and count; None without a number."""
        if not self.count:
            return None
        middle = round(median(self._sample), 4)
        ends = {"first": self.first, "last": self.last, "min": self.lowest, "median": middle, "max": self.highest}
        return {**ends, "count": self.count}


POINTS_LIMIT = 1024
"""Points kept of one series: of a long log each stands for several windows."""


@dataclass(frozen=True, slots=True)
class Point:
    """One window of a series, or several neighbours together."""

    offset: int
    """Byte offset of the first one's line."""
    ts: str | None
    value: float
    """The mean."""
    low: float
    high: float
    count: int = 1
    idle: bool = False
    """The server was idle within it: a throughput of such a window says nothing."""

    def joined(self, later: Point) -> Point:
        """This and its neighbour as one; idle time spoils no window that has none."""
        if self.idle != later.idle:
            return replace(later, offset=self.offset, ts=self.ts) if self.idle else self
        count = self.count + later.count
        value = (self.value * self.count + later.value * later.count) / count
        low, high = min(self.low, later.low), max(self.high, later.high)
        return Point(self.offset, self.ts, value, low, high, count, self.idle)


class Points:
    """A series as it is drawn, in bounded memory: when there are too many, neighbours are joined."""

    def __init__(self, limit: int = POINTS_LIMIT) -> None:
        self._limit = limit
        self._each = 1
        """Windows that one point stands for."""
        self._points: list[Point] = []
        self._part: Point | None = None
        """The newest point, not complete."""
        self._taken = 0

    def add(self, offset: int, ts: str | None, value: float, *, idle: bool = False) -> None:
        if not isfinite(value):
            return
        point = Point(offset, ts, value, value, value, 1, idle)
        self._part = self._part.joined(point) if self._part else point
        self._taken += 1
        if self._taken >= self._each:
            self._points.append(self._part)
            self._part, self._taken = None, 0
        if len(self._points) >= self._limit:
            pairs = zip(self._points[::2], self._points[1::2], strict=True)
            self._points = [first.joined(second) for first, second in pairs]
            self._each *= 2

    def all(self) -> tuple[Point, ...]:
        """Oldest first."""
        return (*self._points, self._part) if self._part else tuple(self._points)

    @property
    def last(self) -> Point | None:
        return self._part or (self._points[-1] if self._points else None)
