"""Each slice by a table: a state, what happened, and what is known then."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from console.logs.history import LogHistory
from console.logs.marks import Marks
from console.logs.reading import LogReading
from console.logs.window import LineWindow
from console.state import events
from console.state.log_state import LogState
from console.state.model import (
    ActionState,
    ConsoleState,
    LaunchView,
    LinkState,
    ProfilesState,
    ProfileView,
    RunbookState,
    ServersState,
    Step,
)
from console.state.sweep_state import SweepState, SweepView
from console.state.update import REDUCERS, fold, update
from tests.unit.state.samples import hello, holder, run, telemetry

A, B = ProfileView("a", "a.yaml"), ProfileView("b", "b.yaml", patches=("p",))
DONE = Step("free", "", "done", "8/8 free", 1.0)
RUNNING = Step("patch", "", "running")
OLD, WALKED = SweepView("s1", 1.0, "a", "done", ()), SweepView("s2", 2.0, "a", "running", ())
WINDOW, MARKS, READING = LineWindow(), Marks(), LogReading.of(LogHistory())

CASES: list[tuple[str, Any, events.Event, Any]] = [
    ("link", LinkState(), events.LinkChanged("connected"), LinkState("connected")),
    ("link", LinkState("connected"), events.LinkChanged("reconnecting", "EOF"), LinkState("reconnecting", "EOF")),
    (
        "action",
        ActionState("x", "X", "done"),
        events.ActionAsked("free", "Free"),
        ActionState("free", "Free", "planning"),
    ),
    (
        "action",
        ActionState("free", "Free", "planning"),
        events.ActionPlanned(),
        ActionState("free", "Free", "planned"),
    ),
    ("action", ActionState("free", "Free", "planned"), events.ActionDeclined(), ActionState()),
    (
        "action",
        ActionState("free", "Free", "planning"),
        events.ActionStarted(),
        ActionState("free", "Free", "running"),
    ),
    (
        "action",
        ActionState("free", "Free", "running", ("a",)),
        events.ActionSaid("b"),
        ActionState("free", "Free", "running", ("a", "b")),
    ),
    (
        "action",
        ActionState("free", "Free", "running", ("a",)),
        events.ActionFinished(True, "8/8", ("b",)),
        ActionState("free", "Free", "done", ("a", "b"), "8/8"),
    ),
    (
        "action",
        ActionState("free", "Free", "running"),
        events.ActionFinished(False, "7/8"),
        ActionState("free", "Free", "failed", (), "7/8"),
    ),
    (
        "action",
        ActionState("free", "Free", "running"),
        events.ActionFailed("lost"),
        ActionState("free", "Free", "failed", (), "lost"),
    ),
    ("profiles", ProfilesState(), events.ProfilesListed((A, B), "b"), ProfilesState((A, B), "b")),
    ("profiles", ProfilesState(), events.ProfilesListed((A, B), "gone"), ProfilesState((A, B), "a")),
    ("profiles", ProfilesState((A,), "a"), events.ProfilesListed((A, B), "b"), ProfilesState((A, B), "a")),
    (
        "profiles",
        ProfilesState((A, B), "a", LaunchView("a", ())),
        events.ProfileSelected("b"),
        ProfilesState((A, B), "b"),
    ),
    (
        "profiles",
        ProfilesState((A, B), "b"),
        events.LaunchPlanFailed("b", "no model"),
        ProfilesState((A, B), "b", problem="no model"),
    ),
    ("runbook", RunbookState(), events.RunbookMoved("b", (DONE,)), RunbookState("b", (DONE,))),
    ("runbook", RunbookState("b", (DONE,)), events.RunbookCleared(), RunbookState()),
    ("runbook", RunbookState("b", (DONE,)), events.ProfileSelected("a"), RunbookState()),
    (
        "runbook",
        RunbookState("b", (DONE, RUNNING)),
        events.ActionCancelled(),
        RunbookState("b", (DONE, Step("patch", "", "failed", "cancelled"))),
    ),
    (
        "runbook",
        RunbookState("b", (DONE, Step("patch", "", "failed", "no"))),
        events.RunbookMoved("b", (Step("free", "", "skipped", "resumed after it"), RUNNING)),
        RunbookState("b", (Step("free", "", "skipped", "8/8 free", 1.0), RUNNING)),
    ),
    ("sweep", SweepState(), events.SweepsRead((OLD,)), SweepState((OLD,))),
    ("sweep", SweepState((OLD,)), events.SweepChosen("s1"), SweepState((OLD,), chosen="s1")),
    ("sweep", SweepState((OLD,)), events.SweepMoved(WALKED), SweepState((OLD,), WALKED)),
    ("sweep", SweepState((), WALKED), events.SweepsRead((OLD,)), SweepState((OLD,), WALKED)),
    (
        "sweep",
        SweepState((), replace(WALKED, state="stopped")),
        events.SweepsRead((replace(WALKED, state="stopped"), OLD)),
        SweepState((replace(WALKED, state="stopped"), OLD)),
    ),
    (
        "sweep",
        SweepState((), WALKED),
        events.ActionFailed("node lost"),
        SweepState((), replace(WALKED, state="stopped", why="node lost")),
    ),
    (
        "sweep",
        SweepState((), WALKED),
        events.ActionCancelled(),
        SweepState((), replace(WALKED, state="stopped", why="cancelled")),
    ),
    ("servers", ServersState(), events.NodeNamed("n", "me@here", False), ServersState(operator="me@here")),
    ("servers", ServersState(), events.ServerChosen("r1"), ServersState(chosen="r1")),
    ("log", LogState(), events.LogOpened("r1", "/l", {}, WINDOW, MARKS), LogState("r1", "/l", {}, WINDOW, MARKS)),
    (
        "log",
        LogState("r1", "/l", {}, WINDOW, MARKS, problem="gone"),
        events.LogFed("r1", 3, 10, 30),
        LogState("r1", "/l", {}, WINDOW, MARKS, None, 3, 10, 30),
    ),
    (
        "log",
        LogState("r1", version=3, read_to=10),
        events.LogFolded("r1", READING, 5, 7),
        LogState("r1", version=3, read_to=10, reading=READING, fold_behind=5, skipped=7),
    ),
    ("log", LogState("r1"), events.LogFailed("r1", "gone"), LogState("r1", problem="gone")),
]

LATE: list[tuple[str, Any, events.Event]] = [
    ("profiles", ProfilesState((A, B), "a"), events.LaunchPlanned(LaunchView("b", ()))),
    ("profiles", ProfilesState((A, B), "a"), events.LaunchPlanFailed("b", "no")),
    ("profiles", ProfilesState((A, B), "a", LaunchView("a", ())), events.ProfileSelected("a")),
    ("log", LogState("r2"), events.LogFed("r1", 3, 10, 30)),
    ("log", LogState("r2"), events.LogFailed("r1", "gone")),
    ("log", LogState("r2"), events.LogFolded("r1", READING, 5)),
    ("runbook", RunbookState("b", (DONE,)), events.ActionCancelled()),
    ("sweep", SweepState((OLD,)), events.ActionFailed("no")),
    ("runbook", RunbookState("b", (DONE, RUNNING)), events.ProfileSelected("a")),
]
"""What comes too late, or concerns something else, changes nothing."""


@pytest.mark.parametrize(("name", "before", "event", "after"), CASES)
def test_a_slice_after_an_event(name: str, before: Any, event: events.Event, after: Any) -> None:
    assert REDUCERS[name](before, event) == after


@pytest.mark.parametrize(("name", "before", "event"), LATE)
def test_what_does_not_concern_a_slice_leaves_the_same_object(name: str, before: Any, event: events.Event) -> None:
    assert REDUCERS[name](before, event) is before


def test_every_slice_has_its_reducer():
    assert set(REDUCERS) == set(ConsoleState.__dataclass_fields__)


def test_an_event_that_changes_nothing_gives_the_same_state():
    state = ConsoleState()
    assert update(state, events.LogFed("r1", 1, 2, 3)) is state


def test_a_slice_that_is_not_concerned_stays_the_same_object():
    state = ConsoleState()
    changed = update(state, events.LinkChanged("connected"))
    assert changed.link.is_up
    assert changed.gpus is state.gpus


def test_verdicts_follow_readings_and_holders():
    held = (holder(0, "ours"),)
    inventory = events.InventoryRead(None, telemetry(0, 8 << 30), held, (), 0, "")  # type: ignore[arg-type]
    state = fold(ConsoleState(), [inventory])
    assert [each.state for each in state.gpus.verdicts] == ["held"]
    # The server ends: memory is read a second later, its holders are not read yet.
    state = fold(state, [events.TelemetrySampled(telemetry(0, 0))])
    assert [each.state for each in state.gpus.verdicts] == ["held"]
    state = fold(state, [events.InventoryRead(None, telemetry(0, 0), (), (), 2, "")])  # type: ignore[arg-type]
    assert [each.state for each in state.gpus.verdicts] == ["free"]
    assert state.gpus.unreadable_pids == 2


def test_a_node_where_a_look_is_dear_is_looked_at_less():
    read = events.InventoryRead(None, telemetry(0, 0), (), (), 0, "")  # type: ignore[arg-type]
    assert update(ConsoleState(), read).gpus.every_s == 2.0
    assert update(ConsoleState(), replace(read, cpu_s=0.25)).gpus.every_s == 12.5


def test_memory_that_is_read_alone_frees_and_takes_no_gpu():
    """Holders are read with the next inventory: until then one reading stands, not a half of each of two."""
    state = fold(ConsoleState(), [events.InventoryRead(None, telemetry(0, 0), (), (), 0, "")])  # type: ignore[arg-type]
    state = fold(state, [events.TelemetrySampled(telemetry(0, 8 << 30))])
    assert [(each.state, each.memory_used_bytes) for each in state.gpus.verdicts] == [("free", 0)]
    state = fold(state, [events.TelemetrySampled(telemetry(0, 9 << 30))])
    assert state.gpus.sample == telemetry(0, 9 << 30)
    assert state.gpus.verdicts[0].reason.count("that was before") == 1
    state = fold(state, [events.TelemetrySampled(telemetry(0, 1))])
    assert state.gpus.verdicts[0].memory_used_bytes == 1


def test_a_reading_that_was_overtaken_changes_nothing():
    new = replace(telemetry(0, 0), at=9.0)
    state = fold(ConsoleState(), [events.InventoryRead(None, new, (), (), 0, "")])  # type: ignore[arg-type]
    assert REDUCERS["gpus"](state.gpus, events.TelemetrySampled(telemetry(0, 8 << 30))) is state.gpus


def test_a_missing_reading_is_unknown_and_never_free():
    state = fold(ConsoleState(), [events.TelemetrySampled(telemetry(0, None))])
    assert [each.state for each in state.gpus.verdicts] == ["unknown"]


def test_the_newest_own_server_is_found_among_others():
    runs = (run("r1", "me"), run("r2", "you"), run("r3", "me", "exited"), run("r4", "you"))
    servers = ServersState(runs, operator="me")
    assert servers.newest_own is runs[2]
    assert [each.run_id for each in servers.running] == ["r1", "r2", "r4"]


@pytest.mark.parametrize(
    ("runs", "chosen", "meant"),
    [
        ((), None, None),
        ((("r1", "me", "running"),), None, "r1"),
        ((("r1", "me", "running"), ("r2", "me", "running")), None, None),
        ((("r1", "me", "running"), ("r2", "me", "running")), "r2", "r2"),
        ((("r1", "me", "running"), ("r2", "you", "running")), None, "r1"),
        ((("r1", "me", "running"), ("r2", "you", "running")), "r2", "r2"),
        ((("r1", "me", "running"), ("r2", "me", "exited")), "r2", "r1"),
        ((("r2", "you", "running"),), None, None),
    ],
)
def test_which_server_is_meant(runs: Any, chosen: str | None, meant: str | None) -> None:
    servers = ServersState(tuple(run(*each) for each in runs), chosen, "me")
    assert (servers.meant.run_id if servers.meant else None) == meant


def test_narration_keeps_only_its_newest_lines():
    said = [events.ActionSaid(str(number)) for number in range(2000)]
    state = fold(ConsoleState(), [events.ActionAsked("x", "X"), events.ActionStarted(), *said])
    assert state.action.lines[-1] == "1999"
    assert len(state.action.lines) == 500


def test_notices_are_numbered_and_bounded():
    state = fold(ConsoleState(), [events.Noticed("warn", str(number)) for number in range(100)])
    assert state.notices.last == 100
    assert [notice.number for notice in state.notices.recent] == list(range(81, 101))


def test_how_far_the_log_is_behind():
    assert LogState(read_to=10, size=30).behind_bytes == 20
    assert LogState(read_to=30, size=10).behind_bytes == 0


def test_the_agent_and_facts_are_known_once_it_was_reached():
    state = fold(ConsoleState(), [events.NodeNamed("n", "me", True), events.AgentGreeted(hello())])
    assert state.node.simulated
    assert state.node.hello == hello()


def test_the_sweep_that_is_walked_stands_before_the_chosen_and_that_before_the_newest():
    third = replace(OLD, sweep_id="s0")
    assert SweepState((OLD, third)).shown is OLD
    assert SweepState((OLD, third), chosen="s0").shown is third
    assert SweepState((OLD, third), WALKED, "s0").shown is WALKED
    assert SweepState((replace(WALKED, state="stopped"), OLD), WALKED).every == (WALKED, OLD)
    assert SweepState().shown is None
