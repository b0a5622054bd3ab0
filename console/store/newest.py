"""The newest runs' ids, for completing what is typed: read-only, at once, and nothing at all where that fails."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

WAIT_S = 0.05


def newest_ids(path: Path, limit: int = 50) -> tuple[str, ...]:
    """Return ids of runs, newest first. The file is not made, changed or waited for."""
    if not path.is_file():
        return ()
    try:
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=WAIT_S)) as db:
            rows = db.execute("SELECT id FROM runs ORDER BY at DESC, seq DESC LIMIT ?", (limit,)).fetchall()
    except sqlite3.Error:
        return ()
    return tuple(str(row[0]) for row in rows)
