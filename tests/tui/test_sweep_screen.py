"""Screen 5 with sweeps: the points as they are measured, the best and how sure that is, and how to go on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from console.state import events
from console.tui.widgets.sweep_chart import chart_lines, plot_of
from tests.tui.events import busy
from tests.tui.sweeps import finished, walked
from tests.tui.test_hostile import HOSTILE

SIZES = pytest.mark.parametrize("size", [(80, 24), (160, 50)], ids=lambda size: f"{size[0]}x{size[1]}")


@SIZES
async def test_w_changes_between_the_comparison_and_the_sweeps(forced, size):
    async with forced(size) as driver:
        await driver.put(*busy(), events.SweepsRead((finished(),)))
        await driver.press("5", "w")
        await driver.until_shown("best 3 steps 2, NCCL_PROTO=LL: 94.1 tok/s (95 %: 92.6 to 95.6)")
        shown = driver.screen()
        assert "SIMULATED kimi-k2.5-eagle3: done, 6/6" in shown
        assert "faster than the baseline +4.6 % (+3.0 % to +6.1 %); can't tell from 2" in shown
        assert "no drift seen" in shown
        assert "92.6-95.6" in shown
        await driver.press("w")
        await driver.until_shown("withheld")
        assert "NCCL_PROTO" not in driver.screen()


@SIZES
async def test_a_sweep_is_seen_as_it_is_walked(forced, size):
    async with forced(size) as driver:
        await driver.put(*busy(), events.SweepsRead((finished(),)))
        await driver.press("5")
        await driver.put(events.SweepMoved(walked()))
        await driver.until_shown("running, 3/6, 2 min 05 s, about 1 min 20 s left")
        shown = driver.screen()
        assert "now: block 2 of 5: 60.1 tok/s" in shown
        assert "failed: [bold]" in shown
        for _pane in range(3):
            await driver.press("tab")
            await driver.pilot.pause()
            shown += driver.screen()
        for told in ("● NCCL_PROTO LL", "baseline 90.0", "Sweeps 2", "no sweep is running"):
            assert told in shown, told


async def test_a_stopped_sweep_says_how_it_goes_on(forced):
    async with forced((80, 24)) as driver:
        await driver.put(*busy(), events.SweepMoved(walked()), events.ActionFailed("node lost"))
        await driver.press("5")
        await driver.until_shown("not finished (node lost): U takes it up, 2 points left")
        stored = replace(walked(), state="stopped", elapsed_s=None, waits_for="")
        await driver.put(events.SweepsRead((stored, finished())))
        await driver.until_shown("not finished: U takes it up, 2 points left")
        await driver.press("tab", "tab", "j")
        await driver.until(lambda: driver.state.sweep.chosen == finished().sweep_id)
        await driver.until_shown("no drift seen")
        await driver.press("U")
        await driver.until_shown("not now")


async def test_hostile_text_of_sweeps_is_drawn_as_text(forced):
    async with forced() as driver:
        whole = walked()
        named = ((HOSTILE, HOSTILE),)
        points = tuple(replace(each, set=named, env=named, label=HOSTILE, why=HOSTILE) for each in whole.points)
        best = replace(whole.best, label=HOSTILE, verdict="withheld", why=HOSTILE)
        view = replace(whole, profile=HOSTILE, points=points, best=best, waits_for=HOSTILE)
        await driver.put(*busy(), events.SweepMoved(view))
        await driver.press("5")
        await driver.until_shown("[bold red]X[/bold red] [/x]")
        assert not {"\x1b", "\x07", "\u202e"} & {*driver.screen()}


def test_a_line_is_drawn_for_each_combination_of_the_other_axes():
    plot = plot_of(finished().points)
    assert plot
    assert (plot.axis, plot.places, plot.baseline) == ("steps", ("2", "5"), 90.0)
    assert [(curve.label, curve.points) for curve in plot.curves] == [
        ("NCCL_PROTO LL", ((0, 94.1), (1, 61.0))),
        ("NCCL_PROTO Simple", ((0, 91.0), (1, 60.5))),
    ]
    lines = ["".join(part if isinstance(part, str) else part[0] for part in line) for line in chart_lines(plot, 60, 40)]
    assert len(lines) == 40
    assert max(map(len, lines)) <= 60
    rows = {mark: [at for at, line in enumerate(lines[2:]) if mark in line] for mark in "●▲╌"}
    assert rows["●"][0] <= rows["▲"][0] <= rows["╌"][0], "the faster the higher"
    assert lines[-2].split() == ["2", "5"]


@pytest.mark.parametrize("size", [(5, 3), (20, 2), (8, 40), (200, 5)])
def test_a_chart_without_room_says_so_and_never_breaks(size):
    plot = plot_of(finished().points)
    assert plot
    assert len(list(chart_lines(plot, *size))) <= max(1, size[1])


def test_before_anything_is_measured_there_is_nothing_to_draw():
    assert plot_of(()) is None
    assert plot_of([replace(each, tok_s=None) for each in finished().points]) is None
    one = [each for each in finished().points if each.number in (1, 3)]
    assert plot_of(one) is None, "a single point is no line"


@pytest.mark.slow
async def test_a_sweep_is_planned_confirmed_walked_and_taken_up_by_keys(demo, monkeypatch):
    profiles = demo.home / "config" / "profiles"
    profiles.mkdir(parents=True)
    (profiles / "small-baseline.yaml").write_text(
        "extends: kimi-k2.5-baseline\ntp_size: 2\ngpus: [0, 1]\nlog_path: ${logs}/small_baseline.log\n"
    )
    (profiles / "small.yaml").write_text(
        "extends: kimi-k2.5-eagle3\ntp_size: 2\ngpus: [0, 1]\nlog_path: ${logs}/small.log\n"
        "baseline: {profile: small-baseline, varies: [speculative]}\n"
        "sweep: {speculative.num_steps: [5, 2], env.NCCL_PROTO: null}\n"
    )
    async with demo.open((80, 24)) as driver:
        await driver.put(events.ProfileSelected("small"))
        await driver.press("5")
        await driver.ask("W")
        assert "4 launches to do" in driver.screen()
        await driver.press("enter")
        await driver.until(lambda: driver.state.action.phase == "idle")
        assert driver.state.sweep.shown is None
        await driver.confirm("W")
        await driver.until(lambda: bool(driver.state.sweep.walked and driver.state.sweep.walked.measured == 2), 90)
        assert "now: " in driver.screen()
        await driver.ask("escape")
        await driver.press("C")
        await driver.until(lambda: driver.state.action.phase == "cancelled")
        await driver.until_shown("not finished: U takes it up, 2 points left")
        sweep_id = driver.state.sweep.shown.sweep_id
        await driver.confirm("U")
        await driver.until(lambda: driver.state.action.phase == "done", 90)
        await driver.until_shown("small: done, 4/4")
        assert driver.state.sweep.shown.sweep_id == sweep_id
        assert driver.state.sweep.walked is None
        assert [point.state for point in driver.state.sweep.shown.points] == ["done"] * 4
        assert driver.state.runs.candidate is None, "points of a sweep are no runs to stand side by side unasked"
