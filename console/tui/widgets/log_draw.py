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
    from collections.abc import Iterator

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
    segments = list(_segments(drawn(line.raw), looks))
    if label:
        segments.insert(0, Segment(f"{label} ", looks.parts["rank"]))
    return Strip(segments)


def window_of(strip: Strip, line: Line, left: int, width: int, looks: Looks) -> Strip:
    """What is seen of a line from column `left` on; what is cut is marked there, a very long line with its length."""
    goes_on = strip.cell_length > left + width
    mark = f"{MORE} {format_bytes(line.length)}" if line.is_cut else MORE if goes_on else ""
    seen = strip.crop_extend(left, left + width, looks.base)
    cut = looks.parts["cut"]
    if mark and len(mark) < width:
        seen = Strip.join([seen.crop(0, width - len(mark)), Strip([Segment(mark, cut)])])
    if left and strip.cell_length:
        seen = Strip.join([Strip([Segment(BACK, cut)]), seen.crop(1)])
    return seen


def _segments(seen: Drawn, looks: Looks) -> Iterator[Segment]:
    base = looks.parts["error"] if seen.is_trouble else looks.base
    at = 0
    for start, end, name in seen.spans:
        yield Segment(seen.text[at:start], base)
        yield Segment(seen.text[start:end], looks.parts[name])
        at = end
    yield Segment(seen.text[at:], base)
