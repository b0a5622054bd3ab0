"""A terminal that changes its size at any time: under every screen and modal nothing breaks or is out of reach."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from console.tui.keys import SCREENS
from console.tui.modals.error import ErrorModal
from console.tui.modals.log_source import LogSourceModal
from console.tui.modals.plan import PlanModal
from console.tui.modals.typed import TypedModal
from tests.tui.events import busy

if TYPE_CHECKING:
    from textual.screen import ModalScreen

SIZES = ((300, 100), (80, 24), (139, 30), (140, 24))
LONG = [
    f"line {number} of what is planned, and it is long enough to be wrapped on a narrow one" for number in range(90)
]


@pytest.mark.parametrize(
    "screen", [screen if screen == "patches" else pytest.param(screen, marks=pytest.mark.slow) for screen in SCREENS]
)
async def test_a_screen_keeps_its_head_and_its_keys(forced, screen: str) -> None:
    async with forced((80, 24)) as driver:
        await driver.put(*busy())
        driver.app.go_to(screen)
        for size in SIZES:
            await driver.pilot.resize_terminal(*size)
            await driver.pilot.pause()
            shown = driver.screen()
            for told in ("gpu-node-1", f"{screen.capitalize()}]", "F Free", "q Quit"):
                assert told in shown, (size, told)


def modals() -> list[tuple[ModalScreen, tuple[str, ...]]]:
    """Each modal, and what must be seen of it at any size."""
    return [
        (PlanModal("Launch", "L", LONG), ("Launch", "L again: do it", "Leave it (Enter)")),
        (PlanModal("Launch", "L", LONG, refusal="no"), ("L is refused: no", "Leave it (Enter)")),
        (ErrorModal("It failed", "message", "hint", "\n".join(LONG)), ("It failed", "message", "Close (Enter)")),
        (TypedModal("Allow changes?", ("Nothing can be changed.",), "n1"), ("Allow changes?", "type n1, then Enter")),
        (LogSourceModal(None), ("Open a log", "path of a log file", "newest server", "not connected")),
    ]


async def test_a_plan_keeps_its_title_and_its_answers(forced):
    async with forced((300, 100)) as driver:
        modal, wanted = modals()[0]
        driver.app.push_screen(modal)
        await driver.pilot.resize_terminal(80, 24)
        for told in wanted:
            await driver.until_shown(told)


@pytest.mark.slow
async def test_a_modal_keeps_its_title_and_its_answers(forced):
    async with forced((80, 24)) as driver:
        await driver.put(*busy())
        for modal, wanted in modals():
            driver.app.push_screen(modal)
            for size in SIZES:
                await driver.pilot.resize_terminal(*size)
                await driver.pilot.pause()
                shown = driver.screen()
                for told in wanted:
                    assert told in shown, (type(modal).__name__, size, told)
            modal.dismiss(None)
            await driver.pilot.pause()


@pytest.mark.slow
async def test_the_command_line_the_palette_and_the_help_stay_where_they_can_be_used(forced):
    async with forced((80, 24)) as driver:
        await driver.put(*busy())
        for key, typed, told in (
            ("colon", "patch", ("kimi-k2.5-baseline",)),
            ("question_mark", "", ("Close (Enter)",)),
        ):
            await driver.press(key, *typed)
            await driver.press(*(("space",) if typed else ()))
            for size in SIZES:
                await driver.pilot.resize_terminal(*size)
                await driver.pilot.pause()
                for each in told:
                    assert each in driver.screen(), (key, size)
            await driver.press("escape")
        await driver.press("ctrl+p", *"launch")
        await driver.until_shown(":launch")
        for size in SIZES:
            await driver.pilot.resize_terminal(*size)
            await driver.until_shown(":launch")
