"""Names of keys: as a user writes one, as Textual calls it, as it is shown; and which of them never arrive."""

from __future__ import annotations

import functools
import re
import unicodedata

_REPLACED = {
    "solidus": "slash",
    "reverse_solidus": "backslash",
    "commercial_at": "at",
    "hyphen_minus": "minus",
    "plus_sign": "plus",
    "low_line": "underscore",
}
"""Where Textual does not call a character by its Unicode name (textual/keys.py: KEY_NAME_REPLACEMENTS)."""
_ALIASES = {
    "esc": "escape",
    "return": "enter",
    "pgup": "pageup",
    "pgdn": "pagedown",
    "del": "delete",
    "ins": "insert",
    "ctrl+i": "tab",
    "ctrl+m": "enter",
    "ctrl+left_square_bracket": "escape",
}
"""Other names, and what a terminal cannot tell apart."""
_SHOWN = {"escape": "esc", "pageup": "pgup", "pagedown": "pgdn", "up": "↑", "down": "↓", "left": "←", "right": "→"}

EATEN = {
    "ctrl+c": "the terminal sends it as an interrupt, and here it cancels what is asked or running",
    "ctrl+q": "the terminal resumes its output by it (XON), and here it always quits",
    "ctrl+s": "the terminal stops its output by it (XOFF): nothing would be drawn",
    "ctrl+z": "the terminal suspends the console by it",
}
"""Keys that a terminal takes for itself, and what becomes of them (termios: VINTR, VSTART, VSTOP, VSUSP)."""
PREFIXES = {
    "ctrl+b": "tmux takes it as its prefix: it arrives only when pressed twice",
    "ctrl+a": "screen takes it as its prefix: it arrives only when pressed twice",
}
"""Keys that a multiplexer takes for itself unless it is told otherwise."""
MOVES = frozenset(["j", "k", "g", "G", "up", "down", "left", "right", "home", "end", "pageup", "pagedown", "enter"])
"""What moves in tables, logs and dialogs: a widget that has the keyboard takes these before any action does."""


def of_character(character: str) -> str:
    """Return Textual's name of the key that types `character`: "slash" for "/"."""
    if character.isalnum():
        return character
    if character == "\t":
        return "tab"
    name = unicodedata.name(character, character).lower().replace("-", "_").replace(" ", "_")
    return _REPLACED.get(name, name)


_CHARACTERS = {of_character(chr(code)): chr(code) for code in range(0x21, 0x7F)}


def label(key: str) -> str:
    """Return a key as it is shown: "/" for "slash", "^p" for "ctrl+p"."""
    *modifiers, base = key.split("+")
    shown = _SHOWN.get(base) or _CHARACTERS.get(base, base)
    if modifiers == ["ctrl"] and len(shown) == 1:
        return f"^{shown}"
    return "+".join((*modifiers, shown))


def name_of(written: str) -> str:
    """Return Textual's name of a key as a user writes it ("?", "esc", "^p", "F5"); "" when there is no such key."""
    if len(written) == 1:
        return of_character(written) if written.isprintable() else ""
    text = re.sub(r"\^(?=.)", "ctrl+", written.strip(), count=1) if written.startswith("^") else written.strip()
    *modifiers, base = text.split("+")
    modifiers = [each.lower() for each in modifiers]
    base = (of_character(base) if len(base) == 1 else base).lower() if modifiers or len(base) > 1 else base
    name = "+".join((*modifiers, base))
    name = _ALIASES.get(name, name)
    # Only with the newest keyboards does a terminal tell alt with any key; it is taken for what the user knows.
    return name if name in known() or (modifiers == ["alt"] and base in known()) or base == name in _CHARACTERS else ""


@functools.cache
def known() -> frozenset[str]:
    """Return the names of all keys that a terminal can send and that have one."""
    from textual.keys import Keys

    named = {each.value for each in Keys if re.fullmatch(r"[a-z0-9_+]+", each.value)}
    return frozenset(named | set(_CHARACTERS))
