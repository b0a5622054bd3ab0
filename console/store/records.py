"""Owns the journal's connection, and how its records stand in it: JSON without secrets, a damaged one told as such."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Self

from console.errors import UsageError
from console.store.database import BUSY_TIMEOUT_S, open_database

if TYPE_CHECKING:
    from pathlib import Path


class Records:
    """The open file."""

    def __init__(self, path: Path, busy_timeout_s: float = BUSY_TIMEOUT_S) -> None:
        self.path = path
        self._connection, aside = open_database(path, busy_timeout_s)
        self._warning = f"{path} was damaged: it is kept as {aside.name}, and a new journal is begun." if aside else ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def told_once(self) -> str:
        """Return what a user must be told of the file; empty when there is nothing, or when it was asked before."""
        warning, self._warning = self._warning, ""
        return warning

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _load(self, number: object, text: str) -> dict[str, Any]:
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise self._damaged(number, error) from None
        if not isinstance(data, dict):
            raise self._damaged(number, TypeError("not an object"))
        return data

    def _damaged(self, number: object, error: Exception) -> UsageError:
        return UsageError(
            f"The journal {self.path} holds a record that cannot be read: {number} ({error}).",
            "The rest of the journal is whole. Move the file away to begin a new one.",
        )


def dump(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)
