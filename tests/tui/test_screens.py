"""Every screen, narrow and wide: what matters can be read, and what is cut is marked."""

from __future__ import annotations

import pytest

from console.state import events
from console.state.model import LaunchView
from tests.tui.events import FACTS, busy
from tests.unit.state.samples import telemetry

SIZES = ((80, 24), (160, 50))
ESSENTIAL = {
    "1": ("gpu-node-1", "connected", "held", "free", "GPUs 6/8 free", "Processes 2"),
    "2": ("draft.fc_in", "8/8", "(6, 21504)", "ok", "1 unclaimed", "following", "MiB behind"),
    "3": ("kimi-k2.5-eagle3-debug", "EAGLE3", "error: port 8000 is taken by pid 77 [port-in-use]", "--model-path"),
    "4": ("begun and not finished", "appliable", "srt/models/llama_eagle3.py", "+new"),
    "5": ("withheld", "-64.5 %", "88.5 tok/s", "31.4 tok/s", "3.3952", "Differs 2, 1 undeclared"),
    "6": ("candidate", "baseline", "31.4 tok/s", "88.5 tok/s"),
}
PANES = {
    "1": ("ours", "foreign", "files of 3 processes unreadable", "kimi-k2.5-eagle3-debug", "drifted", "8/8 GPUs free"),
    "5": ("disable_cuda_graph", "UNDECLARED", "accepted 0", "tok/s = accept_len / cycle time"),
}
"""What a narrow screen shows one pane at a time, and a wide one at once."""


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_every_screen_shows_what_matters(forced, size: tuple[int, int]) -> None:
    async with forced(size) as driver:
        await driver.put(*busy())
        for number, essential in ESSENTIAL.items():
            await driver.press(number)
            await driver.pilot.pause()
            shown = driver.screen()
            for told in (*essential, "F Free", "S Stop", "R Runbook", "q Quit", "? Keys"):
                assert told in shown, (number, told)


@pytest.mark.parametrize("size", [SIZES[0], SIZES[-1]], ids=lambda size: f"{size[0]}x{size[1]}")
async def test_every_pane_is_reached_by_tab(forced, size: tuple[int, int]) -> None:
    async with forced(size) as driver:
        await driver.put(*busy())
        for number, wanted in PANES.items():
            await driver.press(number)
            seen = ""
            for _pane in range(5):
                await driver.press("tab")
                await driver.pilot.pause()
                seen += driver.screen()
            for told in wanted:
                assert told in seen, told


async def test_a_row_that_is_cut_is_marked_and_shown_in_full(forced):
    async with forced((80, 24)) as driver:
        await driver.put(*busy())
        await driver.press("3", "j")
        assert "broken" in driver.screen()
        assert "broken.yaml:3:1: no k…" in driver.screen()
        await driver.press("enter")
        assert "broken.yaml:3:1: no key 'modle_path' (nearest:" in driver.screen()
        await driver.press("escape", "k", "enter")
        assert "baseline     kimi-k2.5-baseline" in driver.screen(), "columns that have no room here are shown too"


async def test_the_server_that_the_cursor_is_on_is_the_one_that_is_meant(forced):
    async with forced() as driver:
        await driver.put(*busy())
        await driver.press("tab", "j")
        await driver.until(lambda: driver.state.servers.chosen is not None)


async def test_selecting_a_profile_is_known_to_the_whole_console(forced):
    async with forced() as driver:
        await driver.put(*busy())
        await driver.press("3", "k")
        await driver.until(lambda: driver.state.profiles.selected == "kimi-k2.5-baseline")
        assert driver.state.profiles.launch is None
        assert driver.state.runbook.steps == (), "the checklist of another profile is put away"


async def test_help_names_every_key_and_why_it_is_not_to_be_had(forced):
    async with forced() as driver:
        await driver.press("question_mark")
        shown = driver.screen()
        for told in ("Free GPUs: not now: not connected: connecting", "Revert patches (screen patches)", "Palette"):
            assert told in shown


async def test_the_palette_offers_the_actions(forced):
    async with forced() as driver:
        await driver.put(*busy())
        await driver.press("ctrl+p")
        await driver.press(*"Runbook")
        await driver.until_shown("Runbook  R  :runbook")


async def test_simulated_is_marked_on_every_screen(forced):
    async with forced((80, 24)) as driver:
        await driver.put(*busy(), events.NodeNamed("demo", "me@here", True))
        for number in ESSENTIAL:
            await driver.press(number)
            await driver.pilot.pause()
            assert "SIMULATED" in driver.screen().splitlines()[0]


async def test_a_screen_that_was_not_seen_is_up_to_date_when_it_is(forced):
    async with forced() as driver:
        await driver.put(*busy())
        await driver.press("3")
        await driver.put(events.LinkChanged("reconnecting", "EOF"))
        assert "reconnecting (EOF)" in driver.screen()
        await driver.press("1")
        await driver.pilot.pause()
        assert "reconnecting (EOF)" in driver.screen()
        assert "(not live)" in driver.screen()


async def test_what_goes_wrong_beside_an_action_is_noticed_once(forced):
    async with forced() as driver:
        await driver.put(*busy(), events.Noticed("warn", "the disk of the node is full [bold]"))
        await driver.until_shown("the disk of the node is full [bold]")
        await driver.put(events.LinkChanged("connected", "x"))
        assert driver.screen().count("the disk of the node is full") == 1


async def test_a_launch_that_nothing_stands_against_is_shown_with_its_command(forced):
    async with forced() as driver:
        view = LaunchView("kimi-k2.5-baseline", ("python -m x",))
        await driver.put(*busy(), events.ProfileSelected(view.profile), events.LaunchPlanned(view))
        await driver.press("3")
        await driver.pilot.pause()
        assert "no finding: nothing stands against this launch" in driver.screen()
        assert "python -m x" in driver.screen()


async def test_how_seldom_a_busy_node_is_looked_at_is_said(forced):
    async with forced((160, 50)) as driver:
        await driver.put(events.InventoryRead(FACTS, telemetry(0, 0), (), (), 0, "", cpu_s=0.25))
        await driver.until_shown("looked for every 12 s")


async def test_every_screen_draws_before_anything_is_known(forced):
    async with forced((80, 24)) as driver:
        for number in "123456":
            await driver.press(number)
            await driver.pilot.pause()
            assert "F Free" in driver.screen()
