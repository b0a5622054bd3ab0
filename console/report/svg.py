"""Owns bar charts as SVG: a few plain shapes, every text escaped. Colour never carries a meaning of its own. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from console.units import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

WIDTH, HEIGHT = 640, 280
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 44, 48
PLOT = WIDTH - LEFT - RIGHT
BARS_LIMIT = 120
"""Bars that are drawn, the newest; a chart of more says so."""


@dataclass(frozen=True, slots=True)
class Bars:
    """What is drawn: one bar for each value, in the order given."""

    title: str
    unit: str
    """Of the values, at the axis."""
    axis: str
    """What the bars are."""
    values: Sequence[float]
    labels: Sequence[str]
    line: float | None = None
    """A level across all bars."""
    line_label: str = ""
    band: tuple[float, float] | None = None
    """An interval across all bars."""


def bar_chart(bars: Bars) -> str:
    """Return the picture, complete in itself: no script, no font, no link."""
    left_out = max(0, len(bars.values) - BARS_LIMIT)
    title = f"{bars.title}{f' (the newest {BARS_LIMIT})' if left_out else ''}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img" aria-label={quoteattr(plain(title))} font-family="monospace" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        _text(LEFT, 20, title, weight="bold"),
        *_drawn(bars, bars.values[left_out:], bars.labels[left_out:]),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _drawn(bars: Bars, values: Sequence[float], labels: Sequence[str]) -> Iterator[str]:
    top = max((*values, *(bars.band or ()), bars.line or 0.0), default=0.0) or 1.0
    step = (WIDTH - LEFT - RIGHT) / max(1, len(values))
    for share in (0.0, 0.5, 1.0):
        y = _y(share * top, top)
        yield _level(y, "#d0d0d0", "none")
        yield _text(LEFT - 6, y + 4, _number(share * top), anchor="end")
    yield _text(LEFT, 36, bars.unit, fill="#606060")
    if bars.band:
        low, high = _y(bars.band[0], top), _y(bars.band[1], top)
        yield f'<rect x="{LEFT}" y="{high:.1f}" width="{PLOT}" height="{low - high:.1f}" fill="#ffd9a0"/>'
    every = max(1, -(-len(values) // 16))
    for index, (value, label) in enumerate(zip(values, labels, strict=True)):
        yield from _bar(index, value, top, step)
        if index % every == 0:
            yield _text(LEFT + (index + 0.5) * step, HEIGHT - BOTTOM + 16, label, anchor="middle")
    if bars.line is not None:
        y = _y(bars.line, top)
        yield _level(y, "#b00020", "6 4")
        yield _text(WIDTH - RIGHT, 36, bars.line_label, anchor="end", fill="#b00020")
    yield _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, bars.axis, anchor="middle", fill="#606060")


def _bar(index: int, value: float, top: float, step: float) -> Iterator[str]:
    y = _y(value, top)
    x, height = LEFT + (index + 0.1) * step, HEIGHT - BOTTOM - y
    told = f"<title>{_number(value)}</title>"
    yield f'<rect x="{x:.1f}" y="{y:.1f}" width="{0.8 * step:.1f}" height="{height:.1f}" fill="#3465a4">{told}</rect>'


def _y(value: float, top: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * max(0.0, min(1.0, value / top))


def _level(y: float, stroke: str, dashes: str) -> str:
    across = f'x1="{LEFT}" y1="{y:.1f}" x2="{LEFT + PLOT}" y2="{y:.1f}"'
    return f'<line {across} stroke="{stroke}" stroke-dasharray="{dashes}"/>'


def _text(
    x: float, y: float, text: str, *, anchor: str = "start", fill: str = "#202020", weight: str = "normal"
) -> str:
    told = escape(plain(text)[:120])
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}" font-weight="{weight}">{told}</text>'


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 or value == int(value) else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
