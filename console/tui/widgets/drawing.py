"""Lines that are drawn to the width that there is; and bars with what is not certain about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from textual.content import Content
from textual.widget import Widget

from console.tui.text import content

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from textual.geometry import Size

    from console.tui.text import Line

Subject = TypeVar("Subject")
Drawn = tuple["Line | str", ...]
"""The parts of one line."""

FULL, UNCERTAIN = "█", "▒"
AXIS, ZERO, LOW, VALUE, HIGH = "─", "┼", "├", "●", "┤"


class Drawing(Widget, Generic[Subject]):
    """As high as what `lines` draws of its subject at its width."""

    DEFAULT_CSS = "Drawing { height: auto; }"

    def __init__(self, name: str, lines: Callable[[Subject, int], Iterable[Drawn]], subject: Subject) -> None:
        super().__init__(id=name)
        self._lines = lines
        self._subject = subject

    def show(self, subject: Subject) -> None:
        """Draw another subject."""
        if subject != self._subject:
            self._subject = subject
            self.refresh(layout=True)

    def render(self) -> Content:
        return Content("\n").join(content(*line) for line in self._lines(self._subject, self.size.width))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return max(1, sum(1 for _line in self._lines(self._subject, width)))


def interval_bar(value: float | None, interval: tuple[float, float] | None, top: float, width: int) -> str:
    """A bar from 0 to `value` on a scale up to `top`; the interval, at least one cell of it, is shaded."""
    if value is None or top <= 0 or width <= 0:
        return ("·" * max(0, width)) if value is None else " " * max(0, width)
    low, high = interval or (value, value)
    first, last = _cell(low, 0.0, top, width), _cell(high, 0.0, top, width)
    if interval is None:
        return (FULL * (last + 1)).ljust(width)
    return (FULL * first + UNCERTAIN * (last - first + 1)).ljust(width)


def difference_line(value: float, interval: tuple[float, float], width: int) -> str:
    """An interval beside zero, on a scale of its own that holds both."""
    low, high = interval
    left, right = min(low, 0.0), max(high, 0.0)
    margin = 0.05 * (right - left) or 0.01
    cells = [AXIS] * width
    for at, mark in ((0.0, ZERO), (low, LOW), (high, HIGH), (value, VALUE)):
        cells[_cell(at, left - margin, right + margin, width)] = mark
    return "".join(cells)


def _cell(at: float, left: float, right: float, width: int) -> int:
    share = (at - left) / (right - left)
    return max(0, min(width - 1, round(share * (width - 1))))
