"""The table of keys: unambiguous, complete, and honest about what cannot be done now."""

from __future__ import annotations

from dataclasses import replace

import pytest

from console import registry
from console.state.model import (
    ActionState,
    ConsoleState,
    LinkState,
    NodeState,
    PatchesState,
    ProfilesState,
    ProfileView,
    ServersState,
)
from console.state.sweep_state import SweepState, SweepView
from console.tui import screens
from console.tui.keymap import judge
from console.tui.keys import KEYS, SCREENS, KeyTable
from console.tui.operations import PLANS
from remote_agent.protocol import LedgerEntry
from tests.unit.state.samples import hello, run

READY = ConsoleState(
    link=LinkState("connected"),
    node=NodeState("n", "me", hello=hello()),
    servers=ServersState((run("r1", "me"),), operator="me"),
    profiles=ProfilesState((ProfileView("a", ""),), "a"),
    patches=PatchesState(ledger=(LedgerEntry("e", "/", ["p"], "me", 1.0, "applied"),)),
    sweep=SweepState((SweepView("s1", 1.0, "a", "stopped", ()),)),
)
TABLE = KeyTable()
CHANGES = [key.id for key in KEYS if key.group == "change"]


def test_the_screens_are_the_files_of_their_folder():
    assert sorted(SCREENS) == sorted(registry.stems(screens))
    for name, module in registry.modules(screens).items():
        assert name == module.SCREEN.NAME
        assert module.SCREEN.__doc__


@pytest.mark.parametrize("screen", SCREENS)
def test_no_key_means_two_things_on_a_screen(screen: str) -> None:
    keys = [key.key for key in TABLE.on_screen(screen) if key.key]
    assert len(keys) == len(set(keys))


def test_ids_are_unique():
    assert len({key.id for key in KEYS}) == len(KEYS)


def test_capital_letters_change_the_node_and_nothing_else_does():
    for key in KEYS:
        if key.key == "N":
            continue  # as in every pager
        assert key.key.isupper() == (key.group == "change"), key.id


def test_the_keys_as_they_come_stand_before_the_rules_for_a_keymap():
    given = {key.id: key.keys for key in KEYS if key.id not in ("cancel", "theme")}
    assert [str(each) for each in judge(TABLE, given, lambda name: name)] == []


def test_a_reason_names_the_key_that_the_user_has():
    mine = TABLE.with_keys({"screen.launch": ("f3",)})
    assert mine.why_not("launch", replace(READY, profiles=ProfilesState())) == "no profile is selected (f3 lists them)"
    assert mine.hint("{launch} {nothing.known} {}") == "L {nothing.known} {}"


def test_every_change_has_its_plan():
    assert set(PLANS) == set(CHANGES)


@pytest.mark.parametrize("name", CHANGES)
def test_a_ready_node_can_be_changed(name: str) -> None:
    assert TABLE.why_not(name, READY) == ""


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize(
    ("state", "why"),
    [
        (replace(READY, link=LinkState("reconnecting", "EOF")), "not connected: reconnecting (EOF)"),
        (replace(READY, node=replace(READY.node, hello=hello(True, "no home"))), "read-only: no home"),
        (replace(READY, node=replace(READY.node, readonly="told so")), "read-only: told so"),
        (
            replace(READY, node=replace(READY.node, readonly="told so"), link=LinkState("reconnecting")),
            "read-only: told so",
        ),
        (replace(READY, action=ActionState("x", "Launch", "running")), "Launch is running"),
        (replace(READY, action=ActionState("x", "Launch", "planning")), "Launch is being planned"),
        (replace(READY, action=ActionState("x", "Launch", "planned")), "Launch waits for your answer to its plan"),
    ],
)
def test_why_nothing_can_be_changed(name: str, state: ConsoleState, why: str) -> None:
    assert TABLE.why_not(name, state) == why


@pytest.mark.parametrize(
    ("name", "state", "why"),
    [
        ("stop", replace(READY, servers=ServersState(operator="me")), "no server is running"),
        ("probe", replace(READY, servers=ServersState(operator="me")), "no server is running"),
        (
            "stop",
            replace(READY, servers=ServersState((run("r1", "me"), run("r2", "me")), operator="me")),
            "which server? put the cursor on one (screen 1)",
        ),
        (
            "stop",
            replace(READY, servers=ServersState((run("r1", "you"),), "r1", "me")),
            "server r1 belongs to you",
        ),
        ("launch", replace(READY, profiles=ProfilesState()), "no profile is selected (3 lists them)"),
        (
            "runbook",
            replace(READY, profiles=ProfilesState((ProfileView("a", "", problem="bad"),), "a")),
            "profile a cannot be used: bad",
        ),
        ("sweep", replace(READY, profiles=ProfilesState()), "no profile is selected (3 lists them)"),
        ("resume_sweep", replace(READY, sweep=SweepState()), "no sweep of this node is stored"),
        (
            "resume_sweep",
            replace(READY, sweep=SweepState((SweepView("s1", 1.0, "a", "done", ()),))),
            "sweep s1 is finished",
        ),
        ("revert", replace(READY, patches=PatchesState()), "nothing is applied by this account on this node"),
        ("unlock", READY, "it is not read-only"),
        ("unlock", replace(READY, node=replace(READY.node, readonly="told so")), ""),
        (
            "unlock",
            replace(READY, node=replace(READY.node, hello=hello(True, "no home"))),
            "the agent itself is read-only: no home",
        ),
        ("readonly", READY, ""),
        ("readonly", replace(READY, node=replace(READY.node, readonly="told so")), "it is read-only already"),
        ("readonly", replace(READY, action=ActionState("x", "Launch", "running")), "Launch is running"),
    ],
)
def test_why_an_action_is_not_to_be_had(name: str, state: ConsoleState, why: str) -> None:
    assert TABLE.why_not(name, state) == why
