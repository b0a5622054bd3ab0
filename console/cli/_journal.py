"""The journal of this machine, for verbs that need no node."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from console.cli._shared import say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.store.journal import Journal


@contextlib.contextmanager
def open_journal() -> Iterator[Journal]:
    """Open it, and say what is to be said of its file. Raises as `Journal`."""
    from console import paths
    from console.store.journal import Journal

    with Journal(paths.locate().database) as journal:
        if warning := journal.told_once():
            say(f"warning: {warning}")
        yield journal


def none_of(count: int, one: str, many: str) -> str:
    """What is said where nothing is listed: that there is nothing, or that what is there is not what was asked for."""
    return f"none of {count} {many if count > 1 else one} matches" if count else f"there is no {one}"
