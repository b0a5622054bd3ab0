"""Owns the waits before a lost link is tried again: growing, capped, and never the same for two consoles."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BACKOFF_S = (0.2, 0.5, 1.0, 2.0, 5.0)
"""The longest wait before each attempt; the last one before every further one."""
STEADY_S = 10.0
"""A connection that lived this long was one; after a shorter one the waits go on growing."""


def waits(random: Callable[[], float]) -> Iterator[float]:
    """Yield seconds to wait before each attempt, without end: from half of its step to the whole of it.

    The jitter keeps the consoles that one reboot has cut off from coming back all at once. `random` gives 0 to 1.
    """
    for step in itertools.chain(BACKOFF_S, itertools.repeat(BACKOFF_S[-1])):
        yield step * (0.5 + 0.5 * random())
