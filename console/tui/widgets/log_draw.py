"""One line of a log as a strip: foreign text made plain, its parts brought out. Nothing in it is read as markup."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from rich.segment import Segment
from textual.strip import Strip

from console.logs.classify import classify
from console.logs.highlight import spans, without_secrets
from console.logs.marks import TROUBLE
from console.logs.split import RawLine
from console.logs.window import plain_text
from console.tui.text import MORE
from console.units import format_bytes, plain

if TYPE_CHECKING:
    from rich.style import Style

    from console.logs.highlight import Span
    from console.logs.window import Line

BACK = "‹"
PARTS = ("site", "shape", "number", "error", "rank", "secret", "cut", "note", "cursor", "thumb")
"""What has a colour of its own."""


class Looks(NamedTuple):
    """The styles of one frame: of plain text, and of each of PARTS on its background."""

    base: Style
    parts: dict[str, Style]


class Drawn(NamedTuple):
    """What is to be seen of a line's bytes."""

    text: str
    spans: tuple[Span, ...]
    is_trouble: bool


@lru_cache(maxsize=2048)
def drawn(raw: bytes) -> Drawn:
    """Read one line as far as it can be seen; a screen shows the same lines many times."""
    text = plain(without_secrets(plain_text(raw)))
    records = classify(RawLine(0, len(raw), text))
    return Drawn(text, tuple(spans(text)), any(record.kind in TROUBLE for record in records))


def line_strip(line: Line, label: str, looks: Looks) -> Strip:
    """The whole line, as wide as it is, `label` in front of it."""
    if line.note:
        return Strip([Segment(f"── {plain(line.note)} ──", looks.parts["note"])])
    return Strip([Segment(*part) for part in _parts(drawn(line.raw), label, looks)])


def seen_of(line: Line, label: str, looks: Looks, left: int, width: int) -> list[Segment]:
    """What is seen of a line from column `left` on, `width` cells; what is cut is marked, a long line with its length.

    Each Strip on the way costs as much as all else that is done for a row: where a character is a cell, as in nearly
    every log, there is none.
    """
    if line.note or not (label.isascii() and drawn(line.raw).text.isascii()):
        return list(window_of(line_strip(line, label, looks), line, left, width, looks))
    parts = _parts(drawn(line.raw), label, looks)
    length = sum([len(text) for text, _style in parts])
    mark = _mark(line, goes_on=length > left + width)
    begin, end = left + bool(left and length), left + width - (len(mark) if len(mark) < width else 0)
    segments = [Segment(BACK, looks.parts["cut"])] if begin > left else []
    at = 0
    for text, style in parts:
        segments.append(Segment(text[max(0, begin - at) : max(0, end - at)], style))
        at += len(text)
    segments.append(Segment(" " * (end - max(begin, at)), looks.base))
    if left + width > end:
        segments.append(Segment(mark, looks.parts["cut"]))
    return [segment for segment in segments if segment.text]


def window_of(strip: Strip, line: Line, left: int, width: int, looks: Looks) -> Strip:
    """The same of text of any script, whose characters may be two cells wide, or none."""
    mark = _mark(line, goes_on=strip.cell_length > left + width)
    seen = strip.crop_extend(left, left + width, looks.base)
    cut = looks.parts["cut"]
    if mark and len(mark) < width:
        seen = Strip.join([seen.crop(0, width - len(mark)), Strip([Segment(mark, cut)])])
    if left and strip.cell_length:
        seen = Strip.join([Strip([Segment(BACK, cut)]), seen.crop(1)])
    return seen


def _mark(line: Line, *, goes_on: bool) -> str:
    return f"{MORE} {format_bytes(line.length)}" if line.is_cut else MORE if goes_on else ""


def _parts(seen: Drawn, label: str, looks: Looks) -> list[tuple[str, Style]]:
    base = looks.parts["error"] if seen.is_trouble else looks.base
    parts = [(f"{label} ", looks.parts["rank"])] if label else []
    at = 0
    for start, end, name in seen.spans:
        parts += [(seen.text[at:start], base), (seen.text[start:end], looks.parts[name])]
        at = end
    return [*parts, (seen.text[at:], base)]
