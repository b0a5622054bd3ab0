"""Looks for garbage between two frames: Python would in the middle of one, and a log's reading takes it long."""

from __future__ import annotations

import gc

YOUNG = 2_000
"""Containers made since the last look from which on the next one is worth its call."""
BACKSTOP = 200_000
"""Python looks by itself from here on: where nothing is drawn, nothing here is called."""
OLDER_EVERY, OLDEST_EVERY = 20, 4_000
"""Looks after which what has survived some is looked through too; the oldest take as long as some frames."""

EARLY = 5_000, 5, 100
"""Python's limits between the first frame and `take_over`.

With its own ones a fast log brings a full collection every second, and each holds the screen up for 60 ms; with far
more young objects than these, it is the young ones' collection that does.
"""

_looks = 0


def put_off() -> None:
    """Nothing is looked through before `begin`: what is imported for the first frame stays, and is not garbage."""
    gc.disable()


def begin() -> None:
    """From now on Python looks by itself, at what is made from now on; nothing where it was not put off."""
    if not gc.isenabled():
        gc.freeze()
        gc.set_threshold(*EARLY)
        gc.enable()


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
