"""How a sweep walks: what failed is recorded and passed, what the budget has no room for is left out, what ends it."""

from __future__ import annotations

import asyncio
import contextlib
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from console.actions import measure_point, time_cycles, walk_sweep
from console.actions.measure_point import Measured
from console.actions.sweep import PlannedSweep, SweepRequest
from console.errors import ConsoleError, NegativeResult, NodeLost, Refused, ServerDied, Unreachable
from console.probe.device_timer import DeviceSplit
from console.probe.server_side import ServerFigures
from console.probe.sweep import StoredSweep, SweepPoint
from console.probe.sweep_plan import Estimate, SweepPlan
from console.store import Journal
from tests.unit.probe.runs import stored

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.probe.sweep_outcome import SweepOutcome


class Walking:
    """A sweep of four points whose measurements the test decides; its clock goes on by what each one takes."""

    def __init__(self, journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
        self.journal = journal
        self.fails: dict[int, ConsoleError] = {}
        self.fails_once: dict[int, ConsoleError] = {}
        self.fails_to_time: dict[int, ConsoleError] = {}
        self.server: ServerFigures | None = None
        self.takes_s = 60.0
        self.now = 0.0
        self.measured: list[int] = []
        self.cleared = 0
        self.said: list[str] = []
        self.shown: list[SweepOutcome] = []
        self.comes_back = True
        agent = SimpleNamespace(session=SimpleNamespace(connected=self._connected))
        self.node: Any = SimpleNamespace(name="n", journal=journal, record=lambda *_: None, agent=agent)
        monkeypatch.setattr(measure_point, "measure", self._measure)
        monkeypatch.setattr(measure_point, "clear", self._clear)
        monkeypatch.setattr(time_cycles, "run", self._time)
        monkeypatch.setattr(walk_sweep, "time", SimpleNamespace(monotonic=lambda: self.now, time=lambda: self.now))

    async def _measure(self, _node: Any, _planned: Any, point: SweepPoint, _say: Any) -> Measured:
        self.now += self.takes_s
        self.measured.append(point.number)
        if point.number in self.fails_once:
            raise self.fails_once.pop(point.number)
        if point.number in self.fails:
            raise self.fails[point.number]
        rate = 90.0 + point.number
        measured = {"output_tok_s": rate, "server": self.server}
        run = stored(rate - 0.2, rate + 0.2, run_id=f"r{point.number}", launch_id="l", **measured)
        self.journal.add_run(run)
        return Measured(run, "read back")

    async def _connected(self) -> None:
        if not self.comes_back:
            raise Unreachable("not connected: given up")

    async def _clear(self, *_: Any) -> None:
        self.cleared += 1

    async def _time(self, _node: Any, _planned: Any, point: SweepPoint, _say: Any) -> time_cycles.Timed:
        if point.number in self.fails_to_time:
            raise self.fails_to_time[point.number]
        return time_cycles.Timed(22.5, "eagle3-cycle")

    def planned(self, *states: str, **changes: Any) -> PlannedSweep:
        states = states or ("waiting",) * 6
        kinds = ("baseline_start", *("point",) * 4, "baseline_end")
        points = tuple(
            SweepPoint(number, kind, {"a": number} if kind == "point" else {}, state=state)
            for number, (kind, state) in enumerate(zip(kinds, states, strict=True), 1)
        )
        request = SweepRequest("p", cycle=changes.pop("cycle", False))
        plan = SweepPlan("s1", "n", "p", "b", points, ("a (2, 3, 4, 5)",), Estimate(), **changes)
        self.journal.add_sweep(StoredSweep("s1", 0.0, "n", "p", {}, "planned", points))
        return PlannedSweep(request, plan, SimpleNamespace(), {}, ("a",))  # type: ignore[arg-type]

    def walk(self, planned: PlannedSweep) -> SweepOutcome:
        return asyncio.run(walk_sweep.walk(self.node, planned, self.said.append, self.shown.append))

    def kept(self) -> StoredSweep:
        return self.journal.get_sweep("s1")


@pytest.fixture
def walking(tmp_path, monkeypatch) -> Iterator[Walking]:
    with Journal(tmp_path / "runs.sqlite3") as journal:
        yield Walking(journal, monkeypatch)


def test_every_point_between_two_baselines_and_the_node_is_left_free(walking):
    outcome = walking.walk(walking.planned())
    assert walking.measured == [1, 2, 3, 4, 5, 6]
    assert outcome.best.point.number == 5
    assert walking.cleared == 1
    assert walking.kept().state == "done"
    assert walking.kept().points == outcome.points
    assert [sum(p.state == "done" for p in each.points) for each in walking.shown[::2]] == [0, 1, 2, 3, 4, 5]


def test_a_death_and_a_refusal_are_recorded_and_passed(walking):
    walking.fails = {2: ServerDied("server died: out of\n  memory"), 3: Refused("not launched: GPUs held")}
    outcome = walking.walk(walking.planned())
    assert [point.state for point in outcome.points] == ["done", "failed", "failed", "done", "done", "done"]
    assert (outcome.at(2).why, outcome.at(2).died) == ("server died: out of memory", True)
    assert not outcome.at(3).died
    assert outcome.ok


def test_three_failures_in_a_row_end_it(walking):
    walking.fails = {n: ServerDied(f"death {n}") for n in (2, 3, 4)}
    outcome = walking.walk(walking.planned())
    assert walking.measured == [1, 2, 3, 4]
    assert "3 in a row failed, the last: death 4" in outcome.stopped
    assert not outcome.ok
    assert walking.kept().state == "stopped"


def test_failures_with_a_success_between_them_do_not(walking):
    walking.fails = {n: NegativeResult("invalid") for n in (2, 3, 5)}
    assert walking.walk(walking.planned()).stopped == ""


def test_what_is_measured_or_cannot_be_is_not_tried(walking):
    walking.walk(walking.planned("waiting", "failed", "waiting", "failed", "running", "waiting"))
    assert walking.measured == [1, 3, 5, 6]


def test_a_connection_that_comes_back_is_gone_on_with(walking):
    walking.fails_once = {3: NodeLost("the connection was lost")}
    assert walking.walk(walking.planned()).ok
    assert walking.measured == [1, 2, 3, 3, 4, 5, 6]


@pytest.mark.parametrize(("comes_back", "ends", "tries"), [(False, Unreachable, 1), (True, NodeLost, 5)])
def test_a_lost_node_ends_it_with_the_way_to_go_on(walking, comes_back, ends, tries):
    walking.fails, walking.comes_back = {3: NodeLost("the connection was lost")}, comes_back
    with pytest.raises(ends):
        walking.walk(walking.planned())
    assert walking.measured == [1, 2, *([3] * tries)]
    kept = walking.kept()
    assert kept.state == "stopped"
    assert [point.state for point in kept.points] == ["done", "done", "running", "waiting", "waiting", "waiting"]
    assert any("--resume s1" in line for line in walking.said)


def test_ctrl_c_keeps_the_point_in_flight(walking):
    walking.fails = {2: asyncio.CancelledError()}  # type: ignore[dict-item]
    with contextlib.suppress(asyncio.CancelledError, KeyboardInterrupt):
        walking.walk(walking.planned())
    assert walking.kept().points[1].state == "running"
    assert any("--resume s1" in line for line in walking.said)


def test_the_budget_keeps_room_for_the_last_baseline(walking):
    outcome = walking.walk(walking.planned(budget_s=250.0))
    assert walking.measured == [1, 2, 3, 6], "1, 2 and 3 took 180 s: another one and the baseline would end at 300"
    assert [point.state for point in outcome.points[3:5]] == ["left_out", "left_out"]
    assert "3.0 of 4.16667 min are over" in outcome.at(4).why
    assert outcome.ok
    assert walking.kept().state == "stopped", "there is something to go on with"


def test_the_verify_time_is_of_a_pass_of_its_own_and_its_failure_costs_no_point(walking):
    walking.fails_to_time = {3: NegativeResult("eagle3-cycle fits no file of this tree")}
    outcome = walking.walk(walking.planned(cycle=True))
    assert (outcome.at(2).verify_ms, outcome.at(2).verify_why) == (22.5, "eagle3-cycle")
    assert (outcome.at(3).verify_ms, outcome.at(3).state) == (None, "done")
    assert "fits no file" in outcome.at(3).verify_why
    assert outcome.at(1).verify_ms is None


def test_the_servers_own_timer_tells_the_verify_without_a_pass_of_its_own(walking):
    walking.server = ServerFigures(device=DeviceSplit({"target_verify": 1.0}, 12.5))
    outcome = walking.walk(walking.planned())
    assert (outcome.at(2).verify_ms, outcome.at(2).verify_why) == (12.5, "SGLang's device timer, mean of all cycles")
    assert outcome.at(1).verify_ms is None, "of a baseline there is none"


def test_a_pass_that_was_asked_for_goes_before_the_timer_unless_it_fails(walking):
    walking.server = ServerFigures(device=DeviceSplit({"target_verify": 1.0}, 12.5))
    walking.fails_to_time = {3: NegativeResult("it fits no file of this tree")}
    outcome = walking.walk(walking.planned(cycle=True))
    assert (outcome.at(2).verify_ms, outcome.at(2).verify_why) == (22.5, "eagle3-cycle")
    assert outcome.at(3).verify_ms == 12.5
    assert outcome.at(3).verify_why.endswith("; eagle3-cycle: it fits no file of this tree")
