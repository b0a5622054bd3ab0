"""When an adaptive run has enough blocks, and what is said of one that is under way."""

from __future__ import annotations

import pytest

from console.actions.follow_probe import Ending, Telling
from console.actions.probe_record import StopRule
from console.probe.stats import MIN_BLOCKS
from console.probe.trace import BlockTrace, Done, Progress

ANY = StopRule(0.5, least_blocks=1)


def block(number: int, tokens: int = 100, wall_s: float = 1.0) -> BlockTrace:
    return BlockTrace(number, 1, tokens, wall_s, 0.01)


def asked(ending: Ending, *events: object) -> list[bool]:
    return [ending.after(event) for event in events]


def test_a_run_of_a_given_number_of_blocks_is_never_ended():
    assert not any(asked(Ending(None), *(block(n) for n in range(9))))


def test_equal_blocks_end_it_as_soon_as_they_are_enough_and_it_is_said_once():
    answers = asked(Ending(ANY), *(block(n) for n in range(MIN_BLOCKS + 2)))
    assert answers == [*[False] * (MIN_BLOCKS - 1), True, False, False]


def test_not_before_the_least_number_of_blocks():
    rule = StopRule(0.5, least_blocks=MIN_BLOCKS + 2)
    answers = asked(Ending(rule), *(block(n) for n in range(MIN_BLOCKS + 2)))
    assert answers == [*[False] * (MIN_BLOCKS + 1), True]


def test_blocks_that_scatter_go_on():
    scattered = [block(n, tokens) for n, tokens in enumerate((50, 100, 200, 60, 90, 55))]
    assert not any(asked(Ending(StopRule(0.02, 1)), *scattered))


def test_a_baseline_that_scatters_widens_the_interval_of_the_difference():
    equal = [block(n) for n in range(MIN_BLOCKS)]
    assert not any(asked(Ending(StopRule(0.02, 1, baseline=(50.0, 100.0, 200.0))), *equal))
    assert any(asked(Ending(StopRule(0.02, 1, baseline=(100.0, 100.1, 99.9))), *equal))
    assert any(asked(Ending(StopRule(0.02, 1, baseline=(100.0,))), *equal)), "one block is no interval"


def test_a_console_that_could_not_say_it_says_it_at_the_next_block():
    ending = Ending(ANY)
    assert asked(ending, *(block(n) for n in range(MIN_BLOCKS)))[-1]
    ending.take_back()
    assert asked(ending, block(MIN_BLOCKS)) == [True]


@pytest.mark.parametrize("event", [Done(True, ""), None, block(3, tokens=0), block(3, wall_s=0.0)])
def test_what_measured_nothing_decides_nothing(event):
    ending = Ending(ANY)
    assert not ending.after(event)
    assert ending.width is None


def test_each_block_is_told_and_progress_seldom():
    said: list[str] = []
    telling = Telling(said.append, Ending(None))
    for elapsed in (1.0, 2.0, 3.5, 4.0, 7.0, 1.0, 3.1):
        telling.take(Progress(0, 3, 1, 2, 100, elapsed))
    telling.take(block(0))
    telling.take(Progress(-1, 3, 1, 2, 100, 3.0))
    assert [line.split(":")[0] for line in said] == ["block 1/3", "block 1/3", "block 1/3", "block 1", "warm-up"]


def test_an_adaptive_run_tells_the_interval_and_no_end():
    said: list[str] = []
    ending = Ending(ANY)
    telling = Telling(said.append, ending)
    for each in (block(0), block(1, 101), Progress(2, 10_000, 1, 2, 100, 4.0)):
        ending.after(each)
        telling.take(each)
    assert said[0] == "block 1: 100.0 tok/s"
    assert said[1].startswith("block 2: 101.0 tok/s, interval ± ")
    assert said[2].startswith("block 3: 1/2")
