"""Owns what becomes of a damaged journal: it is renamed with all that belongs to it, never written over or removed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_CODES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_PARTS = ("-shm", "-wal", "")
"""The file last: a new one beside an old write-ahead log would take over what is in that."""


def is_damage(error: sqlite3.Error) -> bool:
    """Say whether SQLite found the file damaged, or to be none of its own."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _CODES  # the low byte is the primary code


def suspect(path: Path) -> None:
    """Leave a mark that damage was met in the middle of work: who opens the file next looks at all of it."""
    with contextlib.suppress(OSError):
        os.close(os.open(_mark(path), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))


def is_suspected(path: Path) -> bool:
    return _mark(path).exists()


def set_aside(path: Path) -> Path | None:
    """Rename a damaged file and its write-ahead log; where it lies now, None where it is whole.

    Of two consoles that meet the damage at once the second finds a new, whole file.
    Raises sqlite3.Error, OSError.
    """
    with _alone(path):
        aside = None
        if _is_damaged(path):
            aside = _free_name(path)
            for part in _PARTS:
                with contextlib.suppress(FileNotFoundError):
                    path.with_name(path.name + part).rename(aside.with_name(aside.name + part))
        _mark(path).unlink(missing_ok=True)
    return aside


def _is_damaged(path: Path) -> bool:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        return bool(connection.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",))
    except sqlite3.DatabaseError as error:
        if is_damage(error):
            return True
        raise
    finally:
        connection.close()


def _free_name(path: Path) -> Path:
    name = f"{path.name}.damaged-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}"
    names = [name, *(f"{name}-{number}" for number in range(2, 100))]
    return next(found for each in names if not (found := path.with_name(each)).exists())


def _mark(path: Path) -> Path:
    return path.with_name(f"{path.name}.suspect")


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    held = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)
