"""Series of a log as small charts in the terminal: blocks for one number, stacked halves for the parts of a cycle."""

from __future__ import annotations

from itertools import groupby, pairwise
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from console.tui.text import fit
from console.units import NONE, format_number, format_percent

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from console.logs.cycles import CyclePoint
    from console.logs.reading import LogReading
    from console.logs.series import Point

LABEL = 26
"""Cells in front of a chart."""
EIGHTHS = " ▁▂▃▄▅▆▇█"
WIDEST = 4
"""Cells that one point takes where there are few."""
HALF = "▄"
IDLE = "░"
TITLES = {
    "accept_len": "accept len",
    "strict_rate": "strict accept rate",
    "accept_rate": "accept rate as printed",
    "gen_throughput": "gen throughput tok/s",
    "running_req": "running requests",
    "queue_req": "queued requests",
    "token_usage": "token usage",
}
"""The series that are drawn, in this order. accept_rate only where there is no strict one: they say the same."""
WHOLE = {"strict_rate": 1.0, "accept_rate": 1.0, "token_usage": 1.0}
"""Series whose top is known; that of the others is their highest value."""
STAGES = ("draft", "verify", "extend", "other")


class Chart(NamedTuple):
    """One line of charts: what it is called, what it says, and what is drawn."""

    title: str
    told: str
    points: tuple[Point, ...] = ()
    cycles: tuple[CyclePoint, ...] = ()
    top: float = 1.0


def charts(reading: LogReading) -> list[Chart]:
    """What there is to be drawn."""
    made = []
    for name, title in TITLES.items():
        points = reading.series.get(name, ())
        if not points or (name == "accept_rate" and reading.series.get("strict_rate")):
            continue
        busy = [point for point in points if not point.idle] or list(points)
        low, high = min(point.low for point in busy), max(point.high for point in busy)
        told = f"{format_number(points[-1].value)} ({format_number(low)}…{format_number(high)})"
        made.append(Chart(title, told, points, top=WHOLE.get(name) or high or 1.0))
    summary = reading.cycle_summary
    if summary and reading.cycles:
        told = f"{format_number(summary.cycle_ms)} ms, verify {format_percent(summary.verify_share)}"
        top = max(point.cycle_ms for point in reading.cycles) or 1.0
        made.append(Chart("cycle", told, cycles=reading.cycles, top=top))
    return made


def columns(points: Sequence[Point], width: int) -> list[tuple[float, bool]]:
    """Values for `width` columns, the newest at the right; neighbours are joined where there are more. (value, idle)"""
    if len(points) > width:
        edges = [len(points) * at // width for at in range(width + 1)]
        groups = [points[a:b] for a, b in pairwise(edges)]
    else:
        groups = [[point] for point in points]
    made = []
    for group in groups:
        busy = [point.value for point in group if not point.idle]
        values = busy or [point.value for point in group]
        made += [(sum(values) / len(values), not busy)] * min(WIDEST, max(1, width // len(groups)))
    return made


def block(value: float, top: float, row: int, height: int) -> str:
    """The character of a bar in one row, row 0 at the bottom; a value above nothing is seen, however small."""
    eighths = round(max(0.0, min(1.0, value / top)) * height * 8) if top > 0 else 0
    eighths = max(eighths, 1 if value > 0 else 0)
    return EIGHTHS[max(0, min(8, eighths - 8 * row))]


def stage_at(point: CyclePoint, part: float) -> str:
    """Which stage of a cycle lies at a height, in milliseconds from the bottom; empty above it."""
    parts = (point.draft_ms, point.verify_ms, point.extend_ms, point.other_ms)
    for name, length in zip(STAGES, parts, strict=True):
        if part < length:
            return name
        part -= length
    return ""


class Charts(Widget, can_focus=True):
    """All charts under each other, as high as there is room."""

    DEFAULT_CSS = """
    Charts {
        height: 1fr; background: $background;
        & > .charts--title { color: $foreground; text-style: bold; }
        & > .charts--told { color: $text-muted; }
        & > .charts--bar { color: $text-accent; }
        & > .charts--idle { color: $foreground-muted; }
        & > .charts--draft { color: $text-warning; }
        & > .charts--verify { color: $text-accent; }
        & > .charts--extend { color: $text-success; }
        & > .charts--other { color: $foreground-muted; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"charts--{name}" for name in ("title", "told", "bar", "idle", *STAGES)}

    def __init__(self, name: str) -> None:
        super().__init__(id=name)
        self._charts: list[Chart] = []
        self._said = "nothing to draw yet"

    def show(self, reading: LogReading | None, none: str) -> None:
        """Draw a reading; without anything to draw it says `none`."""
        made = charts(reading) if reading else []
        if (made, none) != (self._charts, self._said):
            self._charts, self._said = made, none
            self.refresh()

    def render_line(self, y: int) -> Strip:
        base, width = self.visual_style.rich_style, self.size.width  # `rich_style` is made anew for each line
        if not self._charts:
            return Strip([Segment(fit(self._said if y == 0 else "", width), base + self._style("told"))])
        each = max(1, self.size.height // len(self._charts))
        height = min(8, each - (each > 2))
        index, row = divmod(y, each)
        if index >= len(self._charts):
            return Strip.blank(width, base)
        chart = self._charts[index]
        segments = [self._label(chart, row, height, base)]
        if row < height:
            segments += self._drawn(chart, height - 1 - row, height, max(1, width - LABEL), base)
        return Strip(segments).adjust_cell_length(width, base)

    def _label(self, chart: Chart, row: int, height: int, base: Style) -> Segment:
        if height == 1 and row == 0:
            return Segment(fit(f"{chart.title[:10]} {chart.told}", LABEL - 1) + " ", base + self._style("title"))
        legend = {2: "draft ", 3: "verify ", 4: "extend "} if chart.cycles else {}
        texts = {0: (chart.title, "title"), 1: (chart.told, "told")}
        if row in legend and row < height:
            name = legend[row].strip()
            return Segment(fit(f"█ {name} {_median(chart.cycles, name)} ms", LABEL), base + self._style(name))
        text, style = texts.get(row, ("", "told"))
        return Segment(fit(text, LABEL), base + self._style(style))

    def _drawn(self, chart: Chart, row: int, height: int, width: int, base: Style) -> list[Segment]:
        if chart.cycles:
            return self._stacked(chart, row, height, width, base)
        bar, idle = base + self._style("bar"), base + self._style("idle")
        return _joined(
            (IDLE if row == 0 else " ", idle) if is_idle else (block(value, chart.top, row, height), bar)
            for value, is_idle in columns(chart.points, width)
        )

    def _stacked(self, chart: Chart, row: int, height: int, width: int, base: Style) -> list[Segment]:
        """Two stages in a cell: the lower half in front, the upper one behind."""
        step = chart.top / (2 * height)
        cells = []
        for point in chart.cycles[-width:]:
            lower, upper = (stage_at(point, (2 * row + half + 0.5) * step) for half in (0, 1))
            front = self._style(lower).color if lower else None
            back = self._style(upper).color if upper else None
            style = base + Style(color=front, bgcolor=back)
            cells.append((HALF if lower else " ", style))
        return _joined(cells)

    def _style(self, name: str) -> Style:
        style = self.get_component_rich_style(f"charts--{name}")
        return Style(color=style.color, bold=style.bold)


def _joined(cells: Iterable[tuple[str, Style]]) -> list[Segment]:
    """Neighbours of one style as one segment."""
    return [
        Segment("".join(text for text, _style in group), style) for style, group in groupby(cells, lambda cell: cell[1])
    ]


def _median(cycles: Sequence[CyclePoint], name: str) -> str:
    values = sorted(getattr(point, f"{name}_ms") for point in cycles)
    return format_number(values[len(values) // 2]) if values else NONE
