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


def csv_cell(value: object) -> str | int | float:
    """Return a value for a CSV cell. A text that a spreadsheet would run as a formula gets an apostrophe in front."""
    if value is None:
        return ""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    text = plain(str(value))
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text
