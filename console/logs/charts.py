"""The series of a server's decode windows, by name, each window with its place in the file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from console.logs.rates import strict_rate
from console.logs.series import Points

if TYPE_CHECKING:
    from console.logs.series import Point
    from console.logs.stats import DecodeStats, DecodeWindow

NAMES = (
    *("accept_len", "accept_rate", "strict_rate", "gen_throughput"),
    *("running_req", "queue_req", "token_usage"),
)
"""accept_rate is the printed one; strict_rate is made anew from accept_len where the draft tokens are known."""
_STRICT = "strict_rate"
_PRINTED = tuple(name for name in NAMES if name != _STRICT)
_SPOILT_BY_IDLE = "gen_throughput"


class Charts:
    """Folds decode windows of the file's last launch."""

    def __init__(self, stats: DecodeStats) -> None:
        self._stats = stats
        self._series: dict[str, Points] = {}

    def add(self, window: DecodeWindow) -> None:
        """Take in a window."""
        for name in _PRINTED:
            value = getattr(window, name)
            if value is not None:
                idle = window.includes_idle and name == _SPOILT_BY_IDLE
                self._series.setdefault(name, Points()).add(window.offset, window.ts, float(value), idle=idle)

    def clear(self) -> None:
        self._series.clear()

    def names(self) -> tuple[str, ...]:
        """The series that have points."""
        return tuple(name for name in NAMES if self.last(name))

    def points(self, name: str) -> tuple[Point, ...]:
        """Oldest first; empty when there are none."""
        if name == _STRICT:
            tokens = self._stats.known_draft_tokens  # once: it is looked for in all windows
            strict = (_strict(point, tokens) for point in self.points("accept_len"))
            return tuple(point for point in strict if point)
        return self._series[name].all() if name in self._series else ()

    def last(self, name: str) -> Point | None:
        if name == _STRICT:
            length = self.last("accept_len")
            return _strict(length, self._stats.known_draft_tokens) if length else None
        return self._series[name].last if name in self._series else None


def _strict(length: Point, tokens: int | None) -> Point | None:
    """The rate of a length: it is linear, so that of a mean is the mean of the rates."""
    if tokens is None or tokens < 2:
        return None
    value, low, high = (strict_rate(number, tokens) for number in (length.value, length.low, length.high))
    return replace(length, value=value, low=low, high=high)
