"""Looks for garbage between two frames: Python would in the middle of one, and a log's reading takes it long."""

from __future__ import annotations

import gc

YOUNG = 2_000
"""Containers made since the last look from which on the next one is worth its call."""
BACKSTOP = 200_000
"""Python looks by itself from here on: where nothing is drawn, nothing here is called."""
OLDER_EVERY, OLDEST_EVERY = 20, 4_000
"""Looks after which what has survived some is looked through too; the oldest take as long as some frames."""

_looks = 0


def take_over() -> None:
    """From now on `look` is called between frames. What there is stays: it is never looked through again."""
    gc.freeze()
    gc.set_threshold(BACKSTOP, OLDER_EVERY, OLDER_EVERY)


def look() -> None:
    """Collect what is young, where there is enough of it; nothing before `take_over`."""
    global _looks
    if gc.get_threshold()[0] != BACKSTOP or gc.get_count()[0] < YOUNG:
        return
    _looks += 1
    gc.collect(2 if _looks % OLDEST_EVERY == 0 else 1 if _looks % OLDER_EVERY == 0 else 0)
