"""How numbers and foreign text are written for people. None is "–": not available is never zero."""

from __future__ import annotations

import functools
import re
import unicodedata

NONE = "–"

KIB = 1024
MIB = 1024**2
GIB = 1024**3

_JOINERS = "\u200c\u200d"  # part of ordinary words and emoji in several scripts


def format_bytes(count: float | None) -> str:
    """Write bytes as "0 MiB", "512 MiB" or "139.2 GiB"; below one MiB as KiB or B."""
    if count is None:
        return NONE
    size = abs(count)
    if size >= GIB:
        return f"{count / GIB:.1f} GiB"
    if size >= MIB or count == 0:
        return f"{count / MIB:.0f} MiB"
    return f"{count / KIB:.1f} KiB" if size >= KIB else f"{count:.0f} B"


def format_seconds(seconds: float | None) -> str:
    """Write a duration as "1.2 ms", "3.4 s", "2 min 05 s" or "1 h 02 min"."""
    if seconds is None:
        return NONE
    if seconds < 0:
        return "-" + format_seconds(-seconds)
    if round(seconds, 3) < 1:
        return f"{seconds * 1000:.1f} ms"
    if round(seconds, 1) < 60:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def format_age(seconds: float) -> str:
    """Write an age in its largest unit that has at least two of them, or seconds: "42 s", "7 min", "3 h", "2 d"."""
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size:.0f} {unit}"
    return f"{seconds:.0f} s"


def format_rate(tokens_per_s: float | None) -> str:
    """Write a throughput as "54.8 tok/s"."""
    return NONE if tokens_per_s is None else f"{tokens_per_s:.1f} tok/s"


def format_number(value: float | None, digits: int = 2) -> str:
    """Write a plain number with a fixed count of digits, such as an accept length."""
    return NONE if value is None else f"{value:.{digits}f}"


def format_verdict(verdict: str) -> str:
    """Return a comparison's verdict in words."""
    return "can't tell" if verdict == "cant_tell" else verdict


def format_percent(ratio: float | None, signed: bool = False) -> str:
    """Write a ratio as a percentage: 0.044 is "4.4 %"; with `signed`, "+4.4 %"."""
    if ratio is None:
        return NONE
    return f"{ratio * 100:{'+' if signed else ''}.1f} %"


def plain(text: str, lines: bool = False) -> str:
    """Make foreign text harmless on a terminal: what could move the cursor, colour or reorder is shown, not sent.

    Control characters become their Unicode pictures (ESC is "␛"); C1 controls, bidirectional marks and overrides,
    other invisible format characters, line separators and lone surrogates become "�". With `lines`, newlines stay.
    """
    if text.isascii() and text.isprintable():
        return text
    return _suspect().sub(lambda match: _shown(match.group(), lines), text)


@functools.cache
def _suspect() -> re.Pattern[str]:
    """Made when it is first needed: so large a set takes a tenth of the time that --help does."""
    return re.compile("[^\x20-\x7e\xa1-\xac\xae-\u05ff\u0620-\u06dc\u06de-\u070e\u0710-\u180d\u3000-\ud7ff]")


def _shown(char: str, lines: bool) -> str:
    code = ord(char)
    if char == "\n" and lines:
        return char
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") and char not in _JOINERS:
        return "�"
    return char
