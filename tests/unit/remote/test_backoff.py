"""The waits before a link is tried again: they grow, they end at a cap, and two consoles do not keep step."""

from __future__ import annotations

import itertools
import random

from hypothesis import given
from hypothesis import strategies as some

from console.remote.backoff import BACKOFF_S, waits


def test_without_luck_each_step_is_waited_in_full_and_the_last_one_for_ever():
    found = list(itertools.islice(waits(lambda: 1.0), len(BACKOFF_S) + 3))
    assert found == [*BACKOFF_S, *[BACKOFF_S[-1]] * 3]
    assert sorted(BACKOFF_S) == list(BACKOFF_S)


@given(some.lists(some.floats(0, 1, exclude_max=True), min_size=1, max_size=60))
def test_each_wait_lies_between_half_of_its_step_and_the_whole(drawn):
    steps = itertools.chain(BACKOFF_S, itertools.repeat(BACKOFF_S[-1]))
    given_out = iter(drawn)
    for wait_s, step, _ in zip(waits(lambda: next(given_out)), steps, drawn[:-1], strict=False):
        assert step / 2 <= wait_s <= step


def test_a_hundred_consoles_that_were_cut_off_at_once_do_not_come_back_at_once():
    arrivals = sorted(sum(itertools.islice(waits(random.Random(seed).random), 4)) for seed in range(100))
    assert arrivals[-1] - arrivals[0] > 1.0
    assert max(b - a for a, b in itertools.pairwise(arrivals)) < 0.5
