"""The themes by the names that a user gives: dark, light, and ansi, which takes the terminal's own colours."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from console.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

THEMES = {"dark": "textual-dark", "light": "textual-light", "ansi": "ansi-dark"}
"""Name → Textual's name."""


def default_theme(environ: Mapping[str, str] = os.environ) -> str:
    """Return the theme where none is named: with NO_COLOR (no-color.org) the one that colours can be taken from."""
    return "ansi" if is_colourless(environ) else "dark"


def is_colourless(environ: Mapping[str, str] = os.environ) -> bool:
    """Tell whether colours are not wanted: NO_COLOR is set, to anything but nothing (no-color.org)."""
    return bool(environ.get("NO_COLOR"))


def textual_theme(name: str) -> str:
    """Return Textual's name of a theme. Raises UsageError for one that is not known."""
    if name not in THEMES:
        from console.validation import nearest  # pydantic behind it takes longer than the first frame may

        near = nearest(name, THEMES)
        raise UsageError(
            f"no theme is called {name!r}", f"Nearest: {near}." if near else f"Themes: {', '.join(THEMES)}."
        )
    return THEMES[name]


def next_theme(current: str) -> str:
    """Return the name of the theme after the one that Textual calls `current`."""
    names = list(THEMES)
    at = next((index for index, name in enumerate(names) if THEMES[name] == current), -1)
    return names[(at + 1) % len(names)]
