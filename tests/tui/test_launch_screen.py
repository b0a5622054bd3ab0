"""Screen 3 while a server of the selected profile runs: that one first; what stands against another is said of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from console.state import events
from console.state.model import ConsoleState, Finding, LaunchView
from console.state.update import fold
from console.tui.keys import KeyTable
from console.tui.text import as_line
from console.tui.widgets.launch_words import launch_words
from tests.tui.events import FACTS, RUN_ID, busy
from tests.unit.state.samples import run, telemetry

PROFILE = "kimi-k2.5-eagle3-debug"
TAKEN = Finding("port-in-use", "error", "port 8000 is taken by pid 77", "Stop it.")
BEFORE = LaunchView(PROFILE, ("as it was planned",))
BESIDE = LaunchView(PROFILE, ("as the next one",), (TAKEN,), beside=(RUN_ID,))


def told(*happened: events.Event) -> list[str]:
    state = fold(ConsoleState(), (*busy(), *happened))
    return [as_line(line)[0] for line in launch_words(state, KeyTable().hint)]


def ended(**values: object) -> events.InventoryRead:
    profile = {"profile": {"name": PROFILE}}
    return events.InventoryRead(
        FACTS, telemetry(0, 0), (), (run(RUN_ID, "me@here", "exited", record=profile, **values),), 0, ""
    )


def test_the_running_server_stands_first_and_what_is_found_is_of_another_launch():
    lines = told(events.LaunchPlanned(BESIDE))
    assert lines[0].startswith(f"running: server {RUN_ID}, port 8000, ")
    head = next(at for at, line in enumerate(lines) if "a NEXT launch" in line)
    assert head < lines.index("error: port 8000 is taken by pid 77 [port-in-use]")


def test_the_plan_of_the_server_itself_is_said_to_be_that():
    lines = told(events.LaunchPlanned(BEFORE))
    assert lines[0].startswith(f"running: server {RUN_ID}")
    assert not [line for line in lines if "NEXT" in line]
    assert "planned before it was launched:" in lines


def test_what_was_found_beside_a_server_is_not_said_once_that_has_ended():
    lines = told(events.LaunchPlanned(BESIDE), ended())
    assert lines == ["planning on the node…"]


def test_keys_are_put_into_our_own_words_alone():
    lines = told(events.LaunchPlanned(replace(BEFORE, command=("--x '{free}'",))))
    assert lines[1] == "2 shows its log, B measures it, S ends it"
    assert lines[-1] == "--x '{free}'"


def test_a_server_of_another_profile_is_none_of_it():
    other = replace(BEFORE, profile="kimi-k2.5-baseline")
    lines = told(events.ProfileSelected(other.profile), events.LaunchPlanned(other))
    assert lines[0] == "no finding: nothing stands against this launch"


@pytest.mark.parametrize("size", [(80, 24), pytest.param((160, 50), marks=pytest.mark.slow)])
async def test_it_is_read_at_every_size(forced, size: tuple[int, int]) -> None:
    async with forced(size) as driver:
        await driver.put(*busy(), events.LaunchPlanned(BESIDE))
        await driver.press("3")
        await driver.until_shown(f"{PROFILE}: running on port 8000")
        for text in (f"running: server {RUN_ID}", "a NEXT launch", "port 8000 is taken"):
            assert text in driver.screen()
