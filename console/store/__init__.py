"""The journal of runs and actions on this machine: the one home of SQLite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from console.store.journal import ActionRecord, Journal

__all__ = ["ActionRecord", "Journal"]


def __getattr__(name: str) -> Any:
    """Import the journal when it is asked for: completing a run's id needs only `newest`."""
    if name not in __all__:
        raise AttributeError(name)
    from console.store import journal

    return getattr(journal, name)
