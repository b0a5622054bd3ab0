"""Foreign text to drawn text: made plain, cut with a mark, toned by meaning. The only door to Content."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from console.units import format_bytes, plain

if TYPE_CHECKING:
    from collections.abc import Iterable

Tone = Literal["", "ok", "warn", "error", "dim", "accent", "head", "key"]
Line = tuple[str, Tone]
"""One line and what it means."""

CUT = "…"
"""Ends a text that is cut."""
MORE = "›"
"""Stands at the edge of a line that goes on beyond it."""
STYLES: dict[Tone, str] = {
    "": "",
    "ok": "$text-success",
    "warn": "bold $text-warning",
    "error": "bold $text-error",
    "dim": "$foreground-muted",
    "accent": "$text-accent",
    "head": "bold",
    "key": "bold $text-accent",
}
VERDICT_TONES: dict[str, Tone] = {
    "free": "ok",
    "held": "warn",
    "unknown": "dim",
    "ok": "ok",
    "wrong": "error",
    "done": "ok",
    "running": "accent",
    "ready": "ok",
    "failed": "error",
    "died": "error",
    "lost": "error",
    "applied": "ok",
    "overlaid": "ok",
    "appliable": "accent",
    "drifted": "error",
    "conflict": "error",
    "error": "error",
    "warn": "warn",
    "info": "dim",
    "faster": "ok",
    "slower": "error",
    "cant_tell": "warn",
    "withheld": "warn",
    "ours": "accent",
    "foreign": "warn",
    "same-user": "warn",
    "ghost": "warn",
}
"""What a word of the domain means to the eye; a word that is missing here is plain."""


def tone_of(word: str) -> Tone:
    """Return the tone of a state's or verdict's word."""
    return VERDICT_TONES.get(word, "")


def content(*parts: Line | str) -> Content:
    """Put parts on one line. Foreign text comes out plain; nothing is read as markup."""
    return Content("").join(
        Content.styled(plain(text), STYLES[tone]) for text, tone in (as_line(part) for part in parts)
    )


def paragraphs(lines: Iterable[Line | str]) -> Content:
    """Put each line on a line of its own, to be wrapped by who shows it."""
    return Content("\n").join(content(line) for line in lines)


def fit(text: str, width: int) -> str:
    """Cut or pad plain text to `width` cells; what is cut ends in "…"."""
    if width <= 0:
        return ""
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(text, width - 1) + CUT


def diff_line(line: str) -> Line:
    """Tone a line of a unified diff."""
    if line.startswith(("+++", "---")):
        return (line, "head")
    tones: dict[str, Tone] = {"+": "ok", "-": "error", "@": "accent"}
    return (line, tones.get(line[:1], ""))


def bar(part: float | None, whole: float | None, width: int) -> str:
    """Draw a share as a bar of `width` cells; not known is a row of dots, never an empty bar."""
    if part is None or not whole:
        return "·" * width
    eighths = round(max(0.0, min(1.0, part / whole)) * width * 8)
    full, rest = divmod(eighths, 8)
    partial = " ▏▎▍▌▋▊▉"[rest].strip()
    return ("█" * full + partial).ljust(width, "░")


def memory(used: int | None, total: int | None) -> str:
    """Write used and total memory in one unit: "133.5/140.4 GiB"."""
    told, unit = format_bytes(total), ""
    if " " in told:
        told, unit = told.split(" ")
    if used is not None and unit == "GiB":
        return f"{used / 1024**3:.1f}/{told} GiB"
    return f"{format_bytes(used)}/{told} {unit}".rstrip()


def as_line(part: Line | str) -> Line:
    """Give a bare text its empty tone."""
    return (part, "") if isinstance(part, str) else part
