"""What the user chose before the console opens."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from console.errors import STARTED_READONLY, ConsoleError
from console.tui.keys import KeyTable

if TYPE_CHECKING:
    from pathlib import Path

    from console.paths import Paths

SAID = 3
"""Problems of a keymap that are said when the console opens; `keys check` says all."""
_KEPT = "the keys stay as they come; `spec-console keys check` says all"


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything has a default: a console without any is whole."""

    table: KeyTable = field(default_factory=KeyTable)
    complaints: tuple[str, ...] = ()
    """What is wrong with the keymap, to be said once the console is there."""
    history: Path | None = None
    """The file of past commands; None keeps them for the session alone."""
    theme: str = ""
    """A name of `themes`; empty is the default, which NO_COLOR changes."""
    readonly: str = ""
    """Why every change is refused from the start; empty when it is not."""
    mounts_ahead: bool = False
    """Make the other screens while nothing happens, before they are looked at."""


def read_settings(here: Paths, *, theme: str = "", readonly: bool = False) -> Settings:
    """Read what is kept in files. A broken keymap is a complaint, never an error: the console opens all the same."""
    table, complaints = _keys(here) if here.keys_file.exists() else (KeyTable(), ())
    forbids = STARTED_READONLY if readonly else ""
    return Settings(table, complaints, here.command_history, theme, forbids, mounts_ahead=True)


def _keys(here: Paths) -> tuple[KeyTable, tuple[str, ...]]:
    from console.tui.keymap import load  # what reads YAML takes as long as the first frame

    try:
        table, problems = load(here.keys_file, KeyTable())
    except ConsoleError as error:
        return KeyTable(), (f"{error.message} {error.hint}".strip(), _KEPT)
    kept = (_KEPT,) if any(each.severity == "error" for each in problems) else ()
    return table, (*map(str, problems[:SAID]), *kept)
