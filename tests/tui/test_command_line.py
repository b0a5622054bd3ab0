"""The command line and the palette at work: keys, completion, earlier lines, errors, and what commands do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from textual.widgets import Input

from console.state import events
from console.tui.modals.command_line import CommandLine
from console.tui.settings import Settings
from tests.tui.events import busy

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tui.driver import Driver


async def entered(driver: Driver, line: str) -> None:
    await driver.press("colon")
    await driver.until(lambda: isinstance(driver.app.screen, CommandLine))
    driver.app.screen.query_one(Input).value = line
    await driver.press("enter")
    await driver.pilot.pause()


def typed(driver: Driver) -> str:
    return driver.app.screen.query_one(Input).value


@pytest.mark.slow
async def test_commands_do_what_their_words_say(forced):
    async with forced() as driver:
        await driver.put(*busy())
        await entered(driver, "screen logs")
        await driver.until(lambda: driver.app.current_mode == "logs")
        await entered(driver, "select kimi-k2.5-baseline")
        await driver.until(lambda: driver.state.profiles.selected == "kimi-k2.5-baseline")
        assert driver.app.current_mode == "logs"
        await entered(driver, "theme light")
        await driver.until(lambda: driver.app.theme == "textual-light")
        await entered(driver, "theme")
        await driver.until(lambda: driver.app.theme == "ansi-dark")
        await entered(driver, "runs.baseline")
        await driver.until(lambda: driver.app.current_mode == "runs")
        await entered(driver, "log /logs/other.log")
        await driver.until(lambda: driver.app.current_mode == "logs")
        await entered(driver, "log.filter")
        await driver.until_shown("lines to show, of the whole file")
        await driver.press("escape")
        await entered(driver, "clear")
        await driver.until(lambda: not driver.state.runbook.steps)
        assert driver.app.current_mode == "node", "an action of one screen goes there"


async def test_a_profile_behind_an_action_is_selected_and_the_action_says_why_not(forced):
    async with forced() as driver:
        await driver.put(*busy(), events.LinkChanged("reconnecting", "EOF"))
        await entered(driver, "launch kimi-k2.5-baseline")
        await driver.until_shown("not connected: reconnecting (EOF)")
        assert driver.state.profiles.selected == "kimi-k2.5-baseline"


async def test_what_is_wrong_is_said_and_the_line_stays(forced):
    async with forced((80, 24)) as driver:
        await driver.put(*busy())
        await entered(driver, "lanch [bold]")
        shown = driver.screen()
        assert "no command is called 'lanch'" in shown
        assert "Nearest: launch." in shown
        assert typed(driver) == "lanch [bold]"
        await driver.press("escape")
        assert not isinstance(driver.app.screen, CommandLine)


async def test_tab_completes_as_far_as_it_is_certain_and_then_goes_round(forced):
    async with forced((80, 24)) as driver:
        await driver.put(*busy())
        await driver.press("colon", *"patch_", "tab")
        assert typed(driver) == "patch_in_place "
        await driver.until_shown("kimi-k2.5-baseline")
        await driver.press("tab")
        assert typed(driver) == "patch_in_place ", "profiles of different names have nothing in common"
        await driver.press("k", "tab")
        assert typed(driver) == "patch_in_place kimi-k2.5-"
        seen = []
        for _turn in range(3):
            await driver.press("tab")
            seen.append(typed(driver))
        names = ["kimi-k2.5-baseline", "kimi-k2.5-eagle3-debug", "kimi-k2.5-baseline"]
        assert seen == [f"patch_in_place {name}" for name in names]


@pytest.mark.slow
async def test_earlier_commands_come_back_and_are_kept_over_sessions(forced, tmp_path: Path) -> None:
    settings = Settings(history=tmp_path / "commands")
    async with forced((80, 24), settings) as driver:
        await driver.put(*busy())
        await entered(driver, "screen logs")
        await entered(driver, "theme dark")
        await entered(driver, "lanch")
        await driver.press("escape")
    assert (tmp_path / "commands").read_text() == "screen logs\ntheme dark\n", "what was refused is not kept"
    async with forced((80, 24), settings) as driver:
        await driver.press("colon", "x", "up")
        assert typed(driver) == "theme dark"
        await driver.press("up", "up")
        assert typed(driver) == "screen logs"
        await driver.press("down", "down")
        assert typed(driver) == "x"


@pytest.mark.slow
async def test_an_empty_line_and_escape_do_nothing(forced):
    async with forced() as driver:
        await driver.press("colon", "enter")
        assert not isinstance(driver.app.screen, CommandLine)
        await driver.press("colon", "q", "escape")
        await driver.pilot.pause()
        assert driver.app.is_running
        assert not isinstance(driver.app.screen, CommandLine)


@pytest.mark.slow
async def test_a_colon_in_a_prompt_is_text(forced):
    async with forced() as driver:
        await driver.put(*busy())
        await driver.press("2", "slash", "a", "colon")
        await driver.pilot.pause()
        assert not isinstance(driver.app.screen, CommandLine)


@pytest.mark.slow
async def test_the_palette_has_every_action_what_it_takes_and_why_not(forced):
    async with forced() as driver:
        await driver.put(*busy(), events.LinkChanged("reconnecting", "EOF [bold]"))
        await driver.press("ctrl+p", *"launch")
        await driver.until_shown("Launch  L  :launch  not now: not connected: reconnecting (EOF [bold])")
        await driver.until_shown(":launch kimi-k2.5-baseline")
        await driver.press("escape", "escape", "ctrl+p", *"screenruns")
        await driver.until_shown("Screen Runs")
        await driver.press("enter")
        await driver.until(lambda: driver.app.current_mode == "runs")


@pytest.mark.slow
async def test_the_palette_does_not_open_over_a_question(forced):
    async with forced() as driver:
        await driver.press("question_mark", "ctrl+p")
        await driver.pilot.pause()
        assert type(driver.app.screen).__name__ == "HelpModal"
