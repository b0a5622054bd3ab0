"""Garbage is looked for between frames, and not in them."""

from __future__ import annotations

import gc
import weakref
from typing import TYPE_CHECKING

import pytest

from console.tui import garbage

if TYPE_CHECKING:
    from collections.abc import Iterator


class Cycle:
    def __init__(self) -> None:
        self.itself = self


def much_that_is_new() -> list[list[int]]:
    return [[] for _ in range(2 * garbage.YOUNG)]


@pytest.fixture
def taken_over() -> Iterator[None]:
    before = gc.get_threshold()
    garbage.take_over()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


@pytest.mark.usefixtures("taken_over")
def test_a_cycle_is_found_by_a_look_once_there_is_enough_that_is_new():
    gc.collect(0)
    lost = weakref.ref(Cycle())
    garbage.look()
    assert lost() is not None, "too little is new"
    kept = much_that_is_new()
    assert lost() is not None, "nothing is looked for in between"
    garbage.look()
    assert lost() is None
    del kept


@pytest.mark.usefixtures("taken_over")
def test_what_survived_is_looked_through_after_some_looks():
    cycle = Cycle()
    lost = weakref.ref(cycle)
    gc.collect(0)  # it is among the older ones from here on
    del cycle
    for _ in range(garbage.OLDER_EVERY):
        kept = much_that_is_new()
        garbage.look()
        del kept
    assert lost() is None


def test_python_looks_by_itself_where_nothing_took_over():
    before = gc.get_stats()[0]["collections"]
    gc.disable()
    try:
        kept = much_that_is_new()
        garbage.look()
    finally:
        gc.enable()
    assert gc.get_stats()[0]["collections"] - before <= 1
    del kept
