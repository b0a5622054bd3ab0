"""Throughput of a sweep over its first axis: a line for each combination of the others, the baseline across."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from textual.content import Content
from textual.widget import Widget

from console.tui.text import content, fit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from console.state.sweep_state import SweepPointView, SweepView
    from console.tui.text import Line, Tone
    from console.tui.widgets.drawing import Drawn

LABEL = 7
"""Cells for the numbers at the left."""
LEGEND_ROWS = 4
"""Combinations that are named at most; of more the fastest."""
TONES: tuple[Tone, ...] = ("accent", "ok", "head", "error")
MARKS = "●▲■◆"
BASELINE = "╌"
BRAILLE = 0x2800
DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""Bits of the dots of a cell, by row and column (Unicode 2800)."""


class Curve(NamedTuple):
    """One combination of the other axes: (place on the first axis, tok/s), from left to right."""

    label: str
    points: tuple[tuple[int, float], ...]

    @property
    def top(self) -> float:
        return max(rate for _at, rate in self.points)


class Plot(NamedTuple):
    """What there is to be drawn."""

    axis: str
    places: tuple[str, ...]
    curves: tuple[Curve, ...]
    """The fastest first."""
    baseline: float | None

    @property
    def low(self) -> float:
        return min(self._rates) - self._margin

    @property
    def high(self) -> float:
        return max(self._rates) + self._margin

    @property
    def _margin(self) -> float:
        return 0.05 * (max(self._rates) - min(self._rates)) or 1.0

    @property
    def _rates(self) -> list[float]:
        every = [rate for curve in self.curves for _at, rate in curve.points]
        return every if self.baseline is None else [*every, self.baseline]


def plot_of(points: Sequence[SweepPointView]) -> Plot | None:
    """Part the points by their axes; None before one is measured."""
    swept = [(dict((*point.set, *point.env)), point) for point in points if point.kind == "point"]
    names = list(dict.fromkeys(name for values, _point in swept for name in values))
    told = {name: list(dict.fromkeys(values.get(name, "") for values, _point in swept)) for name in names}
    axis = next((name for name in names if len(told[name]) > 1), "")
    found: dict[str, list[tuple[int, float]]] = {}
    for values, point in swept:
        if point.tok_s is not None and axis:
            others = ", ".join(f"{name} {values[name]}" for name in names if name != axis and len(told[name]) > 1)
            found.setdefault(others, []).append((told[axis].index(values.get(axis, "")), point.tok_s))
    if not found:
        return None
    curves = sorted((Curve(label, tuple(sorted(at))) for label, at in found.items()), key=lambda each: -each.top)
    rates = [point.tok_s for point in points if point.kind != "point" and point.tok_s is not None]
    return Plot(axis, tuple(told[axis]), tuple(curves), sum(rates) / len(rates) if rates else None)


def chart_lines(plot: Plot, width: int, height: int) -> Iterator[Drawn]:
    """Draw into `height` lines: legend above, numbers at the left, places of the first axis below."""
    curves = plot.curves[:LEGEND_ROWS]
    rows, room = height - len(curves) - 2, width - LABEL - 1
    if rows < 2 or room < 8:
        yield (("no room for a chart", "dim"),)
        return
    yield from _legend(plot, curves)
    for row, cells in enumerate(_cells(plot, room, rows)):
        share = 1 - row / (rows - 1)
        label = f"{plot.low + share * (plot.high - plot.low):{LABEL - 1}.1f}" if row in (0, rows // 2, rows - 1) else ""
        yield ((label.rjust(LABEL - 1) + " ", "dim"), *cells)
    yield ((" " * LABEL + _places(plot, room), "dim"),)
    yield ((fit(f"{'':{LABEL}}{plot.axis}", width), "dim"),)


class SweepChart(Widget):
    """The chart of a sweep, as high as there is room."""

    DEFAULT_CSS = "SweepChart { height: 1fr; }"

    def __init__(self, name: str) -> None:
        super().__init__(id=name)
        self._plot: Plot | None = None

    def show(self, sweep: SweepView | None) -> None:
        """Draw another sweep, or the same with more points."""
        plot = plot_of(sweep.points) if sweep else None
        if plot != self._plot:
            self._plot = plot
            self.refresh()

    def render(self) -> Content:
        if self._plot is None:
            return content(("no point is measured yet", "dim"))
        lines = chart_lines(self._plot, self.size.width, self.size.height)
        return Content("\n").join(content(*line) for line in lines)


def _legend(plot: Plot, curves: Sequence[Curve]) -> Iterator[Drawn]:
    beside = "" if plot.baseline is None else f"  {BASELINE}{BASELINE} baseline {plot.baseline:.1f}"
    hidden = len(plot.curves) - len(curves)
    for index, curve in enumerate(curves):
        label = curve.label or "tok/s"
        last = f"{beside}{f'  and {hidden} slower' if hidden else ''}" if index == len(curves) - 1 else ""
        yield ((f"{MARKS[index]} {label}", TONES[index]), (f"  best {curve.top:.1f}", "dim"), (last, "dim"))


def _cells(plot: Plot, width: int, rows: int) -> Iterator[list[Line]]:
    """The rows of the plot, the highest first."""
    canvas = _Canvas(width, rows)
    if plot.baseline is not None:
        canvas.across(_row(plot, plot.baseline, rows))
    drawn = [(index, curve) for index, curve in enumerate(plot.curves[:LEGEND_ROWS])][::-1]  # the fastest on top
    for index, curve in drawn:
        placed = [(_column(plot, at, width), _row(plot, rate, rows)) for at, rate in curve.points]
        for start, end in pairwise(placed):
            canvas.line(start, end, TONES[index])
    for index, curve in drawn:
        for at, rate in curve.points:
            canvas.mark(_column(plot, at, width), _row(plot, rate, rows), MARKS[index], TONES[index])
    yield from canvas.rows()


def _column(plot: Plot, place: int, width: int) -> float:
    """In cells; a single place stands in the middle."""
    inside = width - 3
    last = len(plot.places) - 1
    return 1 + (inside * place / last if last else inside / 2)


def _row(plot: Plot, rate: float, rows: int) -> float:
    return (plot.high - rate) / (plot.high - plot.low) * (rows - 1)


def _places(plot: Plot, width: int) -> str:
    """The names of the places under their columns, as far as they do not run into each other."""
    told = ""
    for place, name in enumerate(plot.places):
        at = max(0, round(_column(plot, place, width)) - len(name) // 2)
        if at >= len(told) + bool(told) and at + len(name) <= width + 1:
            told = told.ljust(at) + name
    return told


class _Canvas:
    """Cells of braille dots, each of the tone that was drawn last, with marks over them."""

    def __init__(self, width: int, rows: int) -> None:
        self._width, self._rows = width, rows
        self._dots: dict[tuple[int, int], int] = {}
        self._marks: dict[tuple[int, int], Line] = {}
        self._tones: dict[tuple[int, int], Tone] = {}

    def across(self, row: float) -> None:
        for column in range(self._width):
            self._marks[(round(row), column)] = (BASELINE, "dim")

    def line(self, start: tuple[float, float], end: tuple[float, float], tone: Tone) -> None:
        steps = max(1, round(2 * abs(end[0] - start[0])), round(4 * abs(end[1] - start[1])))
        for step in range(steps + 1):
            share = step / steps
            self._dot(start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1]), tone)

    def mark(self, column: float, row: float, mark: str, tone: Tone) -> None:
        self._marks[(round(row), round(column))] = (mark, tone)

    def rows(self) -> Iterator[list[Line]]:
        for row in range(self._rows):
            yield [self._cell(row, column) for column in range(self._width)]

    def _cell(self, row: int, column: int) -> Line:
        at = (row, column)
        mark = self._marks.get(at)
        if mark and (mark[0] != BASELINE or at not in self._dots):
            return mark
        return (chr(BRAILLE | self._dots[at]), self._tones[at]) if at in self._dots else (" ", "")

    def _dot(self, column: float, row: float, tone: Tone) -> None:
        across, down = round(2 * column + 0.5), round(4 * row + 1.5)
        at = (down // 4, across // 2)
        self._dots[at] = self._dots.get(at, 0) | DOTS[down % 4][across % 2]
        self._tones[at] = tone
