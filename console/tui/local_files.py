"""Paths of this machine that what was typed may be the beginning of."""

from __future__ import annotations

import os
from pathlib import Path

LIMIT = 200
"""Entries of a folder that are offered."""


def local_files(typed: str) -> tuple[str, ...]:
    """Return paths in the form in which they were begun, folders with a slash behind; none where none can be read."""
    folder, slash, name = typed.rpartition("/")
    try:
        where = Path(folder + slash).expanduser() if slash else Path()
        with os.scandir(where) as entries:
            found = [(each.name, each.is_dir()) for each in entries if _is_meant(each.name, name)]
    except (OSError, RuntimeError, ValueError):
        return ()
    return tuple(f"{folder}{slash}{each}{'/' if is_folder else ''}" for each, is_folder in sorted(found)[:LIMIT])


def _is_meant(entry: str, typed: str) -> bool:
    return entry.startswith(typed) and (typed.startswith(".") or not entry.startswith("."))
