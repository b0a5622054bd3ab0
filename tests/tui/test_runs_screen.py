"""Screen 6 by its keys: searched, labelled, pinned, marked and compared, deleted and brought back, its log opened."""

from __future__ import annotations

from dataclasses import replace

import pytest

from console.state import events
from console.store import Journal
from tests.tui.events import busy
from tests.tui.sweeps import finished
from tests.tui.test_command_line import entered
from tests.unit.probe.runs import SPECULATIVE, line, stored
from tests.unit.state.samples import run, telemetry


@pytest.fixture
def filled(tmp_path):
    """The journal of the unreached node, with three runs."""
    path = tmp_path / "runs.sqlite3"
    block = {"block": 0, "requests": 1, "completion_tokens": 4, "wall_s": 1.0, "client_cpu_s": 0.0}
    spool = line("block", **block, log_from=70, log_to=99) + line("done", valid=True, why="")
    with Journal(path) as journal:
        journal.add_run(stored(90.0, 91.0, run_id="r1", at=1.0, profile="plain", launch_id="s1"), spool)
        journal.add_run(stored(80.0, 81.0, run_id="r2", at=2.0, profile="small", argv=SPECULATIVE))
        journal.add_run(stored(70.0, 71.0, run_id="r3", at=3.0, profile="small", argv=SPECULATIVE))
    return path


async def until_runs(driver, *wanted):
    await driver.until(lambda: tuple(run.run_id for run in driver.state.runs.runs) == wanted)


def sides(driver):
    runs = driver.state.runs
    return runs.baseline and runs.baseline.run_id, runs.candidate and runs.candidate.run_id


async def test_runs_are_compared_pinned_deleted_and_brought_back(filled, unreached):
    async with unreached() as driver:
        await driver.press("6")
        await until_runs(driver, "r3", "r2", "r1")
        await driver.press("g", "m", "G", "m")
        await driver.until(lambda: sides(driver) == ("r1", "r3"))
        await driver.press("k", "p")
        await driver.until(lambda: sides(driver) == ("r2", "r3"))
        assert [run.run_id for run in driver.state.runs.runs if run.pinned] == ["r2"]
        await driver.press("p")
        await driver.until(lambda: not any(run.pinned for run in driver.state.runs.runs))
        await driver.press("g", "d")
        await until_runs(driver, "r2", "r1")
        await driver.until_shown("run r3 is deleted; u brings it back")
        await driver.press("u")
        await until_runs(driver, "r3", "r2", "r1")
    with Journal(filled) as journal:
        kept = [each.request for each in journal.list_actions(verb="compare")]
    assert {"baseline": "r1", "candidate": "r3", "varies": []} in kept


async def test_commands_take_their_run_and_their_words_in_the_line(filled, unreached):
    async with unreached() as driver:
        await until_driven(driver, "runs.pin r2")
        await driver.until(lambda: [run.run_id for run in driver.state.runs.runs if run.pinned] == ["r2"])
        await until_driven(driver, "runs.tags nightly new")
        await until_driven(driver, "runs.tags pr/12 -new")
        await until_driven(driver, "runs.note after the driver update")
        await driver.until(lambda: driver.state.runs.runs[1].note == "after the driver update")
        assert set(driver.state.runs.runs[1].tags) == {"nightly", "pr/12"}, "of the run that the cursor is on"
        await until_driven(driver, "runs.search driver")
        await driver.until_shown("Runs 1 of 3 with driver")
        await until_driven(driver, "runs.delete r3")
        await until_runs(driver, "r2", "r1")


async def until_driven(driver, line):
    await entered(driver, line)
    await driver.until(lambda: not any(worker.group == "command" for worker in driver.app.workers))


@pytest.mark.slow
async def test_a_run_is_tagged_noted_and_found_by_it(filled, unreached):
    async with unreached() as driver:
        await driver.press("6")
        await until_runs(driver, "r3", "r2", "r1")
        await driver.press("G", "t", *"nightly", "enter")
        await driver.until_shown("plain #nightly")
        await driver.press("n", *"new driver", "enter")
        await driver.until_shown("new driver")
        await driver.press("slash", *"DRIVER", "enter")
        await driver.until_shown("Runs 1 of 3 with DRIVER")
        assert "small" not in driver.screen()
        await driver.press("escape")
        await driver.until_shown("Runs 3")
        await driver.press("t", *"?", "enter")
        await driver.until_shown("is no tag")
        await driver.press("t", "escape", "m")
        await driver.until_shown("marked")
        await driver.press("escape", "u")
        await driver.until_shown("no run is deleted")
        assert "marked" not in driver.screen()
    with Journal(filled) as journal:
        assert (journal.labels()["r1"].tags, journal.labels()["r1"].note) == (("nightly",), "new driver")


@pytest.mark.slow
async def test_the_log_of_a_run_is_opened_at_its_place(filled, unreached):
    async with unreached() as driver:
        server = run("s1", "me@here", log_path="/logs/x.log")
        await driver.put(events.InventoryRead(None, telemetry(0, 1), (), (server,), 0, ""))
        await driver.press("6")
        await until_runs(driver, "r3", "r2", "r1")
        await driver.press("g", "o")
        await driver.until_shown("has no record of server")
        await driver.press("G", "o")
        await driver.until_shown("bytes 70 to 99 of the log of s1")
        assert driver.app.current_mode == "logs"


@pytest.mark.parametrize("size", [(80, 24), pytest.param((160, 50), marks=pytest.mark.slow)])
async def test_what_stands_on_a_run_is_read_at_every_size(forced, size):
    async with forced(size) as driver:
        await driver.put(*busy())
        first, *rest = driver.state.runs.runs
        told = replace(first, pinned=True, tags=("nightly",), note="after the driver update")
        swept = finished()
        points = (replace(swept.points[1], run_id=rest[0].run_id), *swept.points[2:])
        await driver.put(events.RunsRead((told, *rest)), events.SweepsRead((replace(swept, points=points),)))
        await driver.press("6")
        await driver.until_shown("◆ ")
        for text in ("#nightly", "after the driver update", "pinned as baseline", "candidate", "31.4 tok/s"):
            assert text in driver.screen()
        assert "NCCL_PROTO=Simple" not in driver.screen()
        await driver.press("j")
        await driver.until_shown("steps 2, NCCL_PROTO=Simple")
