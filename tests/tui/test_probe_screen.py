"""Screen 5 with two runs: both numbers, what is not certain about them, and why there is or is no verdict."""

from __future__ import annotations

from dataclasses import replace

import pytest

from console.state import events
from console.state.runs_state import GoldenView, RunsState, Stages
from console.tui.widgets.drawing import FULL, HIGH, LOW, UNCERTAIN, VALUE, ZERO, difference_line, interval_bar
from console.tui.widgets.side_by_side import side_by_side
from tests.tui.events import busy
from tests.tui.test_hostile import HOSTILE

SIZES = pytest.mark.parametrize("size", [(80, 24), (160, 50)], ids=lambda size: f"{size[0]}x{size[1]}")
COMPARED = next(event for event in busy() if isinstance(event, events.RunsCompared))


def judged(**changes: object) -> events.RunsCompared:
    assert COMPARED.comparison
    return replace(COMPARED, comparison=replace(COMPARED.comparison, **changes))


def drawn(compared: events.RunsCompared, width: int = 76) -> list[str]:
    runs = RunsState(baseline=compared.baseline, candidate=compared.candidate, comparison=compared.comparison)
    return ["".join(part if isinstance(part, str) else part[0] for part in line) for line in side_by_side(runs, width)]


@SIZES
@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"verdict": "faster", "why": "", "n": (5, 5)}, ("faster  -64.5 %", "5 and 5 blocks")),
        ({"verdict": "slower", "why": ""}, ("slower", "a slowdown of 2.0 % would have been found")),
        (
            {"verdict": "cant_tell", "why": "the difference is within the noise of the blocks"},
            ("can't tell", "within noise: a slowdown of 2.0 % would have been found"),
        ),
        ({}, ("withheld", "something differs that the profile does not declare: disable_cuda_graph")),
    ],
)
async def test_the_verdict_is_said_in_words(forced, size, changes, told):
    async with forced(size) as driver:
        await driver.put(*busy(), judged(**changes))
        await driver.press("5")
        await driver.pilot.pause()
        shown = driver.screen()
        for each in (*told, "95 %: -65.7 % to -63.4 %"):
            assert each in shown, each


@SIZES
async def test_every_picture_is_reached(forced, size):
    async with forced(size) as driver:
        await driver.put(*busy())
        await driver.press("5", "tab")
        await driver.until_shown("[Bars]" if size[0] < 140 else "Bars")
        shown = driver.screen()
        for told in (
            "88.5 (87.6 to 89.4)",
            "baseline: no speculation",
            "accept_len 3.3952",
            "accepted 5",
            "it has 3.40",
        ):
            assert told in shown, told
        await driver.press("end")
        await driver.until_shown("tpot ms")


async def test_what_the_server_says_stands_beside_it_and_how_far_it_is_off(forced):
    async with forced() as driver:
        await driver.put(*busy())
        await driver.press("5")
        await driver.pilot.pause()
        assert "92.9 (4.8 % apart)" in driver.screen()


async def test_what_is_not_declared_comes_first_and_simulated_is_said(forced):
    async with forced() as driver:
        assert COMPARED.baseline
        await driver.put(*busy(), replace(COMPARED, baseline=replace(COMPARED.baseline, simulated=True)))
        await driver.press("5")
        await driver.pilot.pause()
        shown = driver.screen()
        assert shown.index("UNDECLARED") < shown.index("speculative_algorithm")
        assert "-63.4 %)  SIMULATED" in shown


async def test_hostile_text_of_runs_is_drawn_as_text(forced):
    async with forced() as driver:
        assert COMPARED.candidate
        run = replace(COMPARED.candidate, profile=HOSTILE, why=HOSTILE, valid=False, speculation=HOSTILE)
        golden = GoldenView(HOSTILE, HOSTILE, 5, 2.0, 0.5)
        compared = replace(judged(why=HOSTILE, notes=(HOSTILE,), golden=golden), candidate=run)
        await driver.put(*busy(), compared)
        await driver.press("5")
        await driver.pilot.pause()
        shown = driver.screen()
        assert "[bold red]X[/bold red] [/x]" in shown
        assert not {"\x1b", "\x07", "\u202e"} & {*shown}


def test_a_known_curve_is_told_as_a_reference():
    told = drawn(judged(golden=GoldenView("my pair", "", 5, 3.6, -0.057)))
    assert any("accept_len 3.60 at 5 steps, measured -5.7 % my pair" in line for line in told)


def test_a_cycle_is_split_where_its_parts_are_known_and_they_add_up():
    assert COMPARED.candidate
    assert COMPARED.candidate.server
    assert not any("its parts" in line for line in drawn(COMPARED))
    server = replace(COMPARED.candidate.server, stages=Stages(100.0, 25.0, 50.0, None, "median of 9"))
    told = drawn(replace(COMPARED, candidate=replace(COMPARED.candidate, server=server)), 135)
    bar = next(line for line in told if "its parts" in line)
    assert [bar.count(char) for char in "█▓▒░"] == [23, 47, 0, 23], "of 100 cells for 107.3 ms"
    legend = next(line for line in told if "verify 50.0" in line)
    assert "extend" not in legend, "a stage that never ran is not shown as 0"
    assert "other 25.0" in legend


def test_a_bar_ends_where_its_interval_does_and_an_unknown_one_is_no_empty_one():
    assert interval_bar(50.0, (40.0, 60.0), 100.0, 101) == (FULL * 40 + UNCERTAIN * 21).ljust(101)
    assert UNCERTAIN in interval_bar(50.0, (49.99, 50.01), 100.0, 20), "however narrow, it is seen"
    assert interval_bar(None, None, 100.0, 4) == "····"
    assert interval_bar(1.0, None, 0.0, 4) == "    "


@pytest.mark.parametrize(
    ("interval", "order"),
    [
        ((0.1, 0.3), (ZERO, LOW, VALUE, HIGH)),
        ((-0.3, -0.1), (LOW, VALUE, HIGH, ZERO)),
        ((-0.3, 0.5), (LOW, ZERO, HIGH)),
    ],
)
def test_the_difference_stands_where_it_is_beside_zero(interval, order):
    line = difference_line(sum(interval) / 2, interval, 60)
    assert len(line) == 60
    places = [line.index(mark) for mark in order]
    assert places == sorted(places)


def test_two_runs_that_agree_to_the_last_digit_can_be_drawn():
    assert VALUE in difference_line(0.0, (0.0, 0.0), 20)
