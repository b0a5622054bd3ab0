"""A recording in the console: the same screens and the same last state, marked as a replay; nothing is changed."""

from __future__ import annotations

from contextlib import asynccontextmanager

import pytest

from console.state import events
from console.state.model import ConsoleState
from console.state.update import fold
from console.store import Journal
from console.store.recordings import Recorder, Recording
from console.tui import replay_app
from console.tui.app import ConsoleApp
from console.tui.keys import KEYS
from console.tui.replay_app import ReplayApp
from tests.tui.driver import Driver
from tests.tui.events import Log, busy, sample
from tests.tui.test_command import Terminal
from tests.unit.state.replayed import content


@asynccontextmanager
async def replayed(path, size=(160, 50)):
    recording = Recording(path)
    app = ReplayApp(recording, 1.0, to_end=True)
    async with app.run_test(size=size, notifications=True) as pilot:
        driver = Driver(app, pilot)
        await driver.until(lambda: bool(driver.state.replay.ended))
        yield driver


@pytest.fixture
async def story(tmp_path, forced):
    """A recording of a console that was told of a busy node, and the state that it had."""
    path = tmp_path / "story.jsonl"
    recorder = Recorder(path, {"node": "gpu-node-1"}, ())
    async with forced() as driver:
        driver.app.stream.tap = recorder.take
        await driver.put(*busy(Log(sample("INFO ready\n"))))
        live = driver.state
    recorder.close()
    return path, live


@pytest.mark.slow
async def test_it_shows_what_the_console_showed(story):
    path, live = story
    async with replayed(path) as driver:
        assert content(driver.state) == content(live)
        for key, told in (
            ("1", "GPUs 6/8 free"),
            ("5", "88.5 tok/s"),
            ("6", "kimi-k2.5-baseline"),
            ("2", "draft.fc_in"),
        ):
            await driver.press(key)
            await driver.until_shown(told)
            assert "REPLAY" in driver.screen()


@pytest.mark.parametrize("size", [(80, 24), pytest.param((160, 50), marks=pytest.mark.slow)])
async def test_it_is_marked_and_nothing_can_be_changed(story, size):
    path, live = story
    async with replayed(path, size) as driver:
        assert content(driver.state) == content(live)
        assert "REPLAY" in driver.screen()
        for key in KEYS:
            if key.group == "change":
                assert key.why_not(driver.state) == "a replay of story.jsonl: there is no node"
        await driver.press("F")
        await driver.until_shown("a replay of story.jsonl")
        await driver.press("6", "d")
        await driver.pilot.pause()
        assert len(driver.state.runs.runs) == 2
        await driver.press("q")
    assert driver.app.return_code == 0


@pytest.mark.slow
async def test_the_replayed_log_is_searched(story):
    path, _ = story
    async with replayed(path) as driver:
        await driver.press("2", "slash", *"ready", "enter")
        await driver.until_shown("INFO ready")


async def test_a_recording_that_ends_early_says_where(story):
    path, _ = story
    path.write_bytes(path.read_bytes()[:-300])
    async with replayed(path) as driver:
        await driver.until_shown("ends early")
        assert driver.state.replay.ended.startswith("line ")
        assert driver.state.node.name == "gpu-node-1"


@pytest.mark.slow
async def test_an_event_that_cannot_be_folded_ends_it(tmp_path, monkeypatch):
    path = tmp_path / "bad.jsonl"
    recorder = Recorder(path, {"node": "n"}, ())
    recorder.take([events.NodeNamed("n", "me", False), events.ActionSaid("boom"), events.ActionSaid("more")])
    recorder.close()
    true_update = replay_app.update

    def update(state, event):
        if event == events.ActionSaid("boom"):
            raise IndexError("no such thing")
        return true_update(state, event)

    monkeypatch.setattr(replay_app, "update", update)
    async with replayed(path) as driver:
        assert "line 3" in driver.state.replay.ended
        assert "no such thing" in driver.state.replay.ended
        assert driver.state.action.lines == ()


@pytest.mark.slow
async def test_the_story_of_the_embedded_node_replays_to_the_identical_state(demo, tmp_path):
    """Everything real: the runbook is walked by its key while it is recorded."""
    path = tmp_path / "story.jsonl"
    app = ConsoleApp("demo", demo.make, simulated=True)
    recorder = Recorder(path, {"node": "demo", "simulated": True}, ())
    app.stream.tap = recorder.take
    async with app.run_test(size=(160, 50), notifications=True) as pilot:
        driver = Driver(app, pilot)
        await driver.until(lambda: bool(app.state.node.facts and app.state.profiles.found))
        await driver.confirm("R")
        await driver.until(lambda: not driver.state.action.is_busy, timeout_s=90)
        await driver.until(lambda: len(driver.state.runs.runs) == 2)
        app.stream.flush()
        app.stream.tap = None
        live = content(driver.state)
    recorder.close()
    recording = Recording(path)
    again = fold(ConsoleState(), (event for _t, event in recording.events()))
    assert recording.ended == "whole"
    assert content(again) == live
    assert [step.state for step in again.runbook.steps] == ["done"] * 7
    assert again.log.reading.rows, "the shape table"
    with Journal(demo.home / "data" / "runs.sqlite3") as journal:
        (plan,) = journal.list_actions(verb="plan")
    assert (plan.request["verb"], plan.outcome["answer"]) == ("runbook", "confirmed")
    assert plan.request["plan"]


@pytest.mark.slow
def test_a_recording_is_made_and_replayed_in_a_real_terminal(tmp_path, monkeypatch, request):
    monkeypatch.setenv("PYTHONPATH", str(request.config.rootpath))
    path = str(tmp_path / "story.jsonl")
    terminal = Terminal("demo", "--record", path, home=str(tmp_path))
    terminal.until(b"GPUs 8/8 free")
    terminal.type(b"q")
    assert terminal.end() == 0
    terminal = Terminal("replay", path, "--to-end", home=str(tmp_path))
    terminal.until(b"REPLAY")
    terminal.until(b"GPUs 8/8 free")
    terminal.type(b"q")
    assert terminal.end() == 0
