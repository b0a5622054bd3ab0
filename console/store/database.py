"""Owns the journal's file: opening it privately, its schema and migrations, and what its errors mean to a user."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from typing import TYPE_CHECKING

from console.errors import ConsoleError, Refused, UsageError
from console.store import damage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BUSY_TIMEOUT_S = 5.0
"""How long to wait for another console that writes."""

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE runs (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            id TEXT NOT NULL UNIQUE,
            at REAL NOT NULL,
            node TEXT NOT NULL,
            profile TEXT NOT NULL,
            profile_hash TEXT NOT NULL,
            kind TEXT NOT NULL,
            launch_id TEXT NOT NULL,
            fingerprint TEXT NOT NULL,
            result TEXT NOT NULL,
            spool BLOB
        )""",
        "CREATE INDEX runs_by_node ON runs (node, at)",
        """CREATE TABLE actions (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            at REAL NOT NULL,
            node TEXT NOT NULL,
            verb TEXT NOT NULL,
            request TEXT NOT NULL,
            outcome TEXT NOT NULL
        )""",
        "CREATE INDEX actions_by_node ON actions (node, at)",
    ),
    (
        """CREATE TABLE sweeps (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            id TEXT NOT NULL UNIQUE,
            at REAL NOT NULL,
            node TEXT NOT NULL,
            profile TEXT NOT NULL,
            request TEXT NOT NULL,
            state TEXT NOT NULL
        )""",
        """CREATE TABLE sweep_points (
            sweep_id TEXT NOT NULL,
            number INTEGER NOT NULL,
            point TEXT NOT NULL,
            PRIMARY KEY (sweep_id, number)
        )""",
    ),
    (
        "ALTER TABLE runs ADD COLUMN note TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE runs ADD COLUMN pinned_at REAL",
        "ALTER TABLE runs ADD COLUMN deleted_at REAL",
        """CREATE TABLE run_tags (
            run_id TEXT NOT NULL,
            tag TEXT NOT NULL,
            PRIMARY KEY (run_id, tag)
        )""",
    ),
)
"""Step i leads from schema i to i + 1 (`PRAGMA user_version`). A step that was released is never changed."""

SCHEMA = len(MIGRATIONS)

_IN_USE = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def open_database(path: Path, busy_timeout_s: float = BUSY_TIMEOUT_S) -> tuple[sqlite3.Connection, Path | None]:
    """Open or create the file, 0600 in a 0700 folder, in WAL mode, with the newest schema.

    A damaged file is set aside first; where it lies now is the second value, else None.

    Raises:
        ConsoleError: see `explained`; UsageError where the file is of a newer console.
    """
    with explained(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        aside = damage.set_aside(path) if damage.is_suspected(path) else None
        try:
            return _connect(path, busy_timeout_s), aside
        except sqlite3.DatabaseError as error:
            if not damage.is_damage(error):
                raise
        aside = damage.set_aside(path)
        return _connect(path, busy_timeout_s), aside


def _connect(path: Path, busy_timeout_s: float) -> sqlite3.Connection:
    _make_private(path)
    connection = sqlite3.connect(path, timeout=busy_timeout_s, isolation_level=None)
    try:
        _prepare(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn what SQLite and the file system say into the user's words.

    Raises:
        Refused: another console holds the file.
        UsageError: it is damaged.
        ConsoleError: it cannot be opened, read or written.
    """
    try:
        yield
    except sqlite3.Error as error:
        raise _explain(error, path) from error
    except OSError as error:
        raise ConsoleError(
            f"The journal {path} cannot be opened: {error.strerror}.",
            "Make its folder writable, or set SPEC_CONSOLE_HOME to another place.",
        ) from error


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit all of the block, or nothing of it."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _make_private(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        # Before SQLite opens it: the -wal and -shm files take over its mode.
        os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    _check_version(connection, path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    if _version(connection) == SCHEMA:
        return
    with transaction(connection):
        _check_version(connection, path)  # again, for another console may have been first
        for step in range(_version(connection), SCHEMA):
            for statement in MIGRATIONS[step]:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {SCHEMA}")


def _check_version(connection: sqlite3.Connection, path: Path) -> None:
    version = _version(connection)
    if version > SCHEMA:
        raise UsageError(
            f"The journal {path} was written by a newer spec-console (schema {version}; this one knows {SCHEMA}).",
            "Update spec-console, or set SPEC_CONSOLE_HOME to another place.",
        )


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _explain(error: sqlite3.Error, path: Path) -> ConsoleError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the low byte is the primary code
    if code in _IN_USE:
        return Refused(f"The journal {path} is held by another process.", "Try again when its write is done.")
    if damage.is_damage(error):
        damage.suspect(path)
        return UsageError(
            f"The journal {path} is damaged: {error}.",
            "The next start sets the file aside, whole, and begins a new one.",
        )
    return ConsoleError(f"The journal {path} failed: {error}.", "Check the free space and the rights of its folder.")
