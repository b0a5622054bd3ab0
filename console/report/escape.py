"""Owns the escaping of foreign text in Markdown and CSV: it is shown as it is, and does nothing."""

from __future__ import annotations

import re

from console.units import plain

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+.!|~$:^=@-])")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "|", "%")


def markdown(text: object) -> str:
    """Return text for a Markdown paragraph or table cell: one line, no markup, no HTML, no link, no mention."""
    line = " ".join(plain(str(text), lines=True).split())
    for char, entity in _ENTITIES.items():
        line = line.replace(char, entity)
    return _MARKDOWN.sub(r"\\\1", line)


def code(text: object) -> str:
    """Return text as a code span for a paragraph or table cell: one line, copied as it is. Of an empty one: empty.

    A bar ends a cell even in a code span, so it is escaped; what shows the table takes the backslash away
    (GitHub Flavored Markdown, 4.10).
    """
    line = " ".join(plain(str(text), lines=True).split())
    if not line:
        return ""
    fence = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    room = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{room}{line}{room}{fence}".replace("|", "\\|")


def csv_cell(value: object) -> str | int | float:
    """Return a value for a CSV cell. A text that a spreadsheet would run as a formula gets an apostrophe in front."""
    if value is None:
        return ""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    text = plain(str(value))
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text
