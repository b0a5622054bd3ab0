"""The plan modal: only the same capital confirms, and only by somebody who has had the time to read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from textual.app import App
from textual.events import Key

from console.state import events
from console.tui.modals.plan import ARMED_AFTER_S, PlanModal
from tests.tui.events import busy
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterable


class ModalApp(App[None]):
    answers: list[object]

    def on_mount(self) -> None:
        self.answers = []
        self.push_screen(PlanModal("Free GPUs", "F", ["stop server r1"]), self.answers.append)


def typed(modal: PlanModal, key: str, at: Iterable[float]) -> None:
    """Keys that were pressed at these seconds after the modal came up."""
    start = modal._last_key_at
    for seconds in at:
        event = Key(key, key)
        event.time = start + seconds
        modal.on_key(event)


async def armed(app: ModalApp) -> PlanModal:
    await until(lambda: isinstance(app.screen, PlanModal) and app.screen.is_armed)
    assert isinstance(app.screen, PlanModal)
    return app.screen


async def test_a_key_that_is_held_down_does_not_confirm_what_nobody_has_read():
    app = ModalApp()
    async with app.run_test() as pilot:
        modal = await armed(app)
        # A console that is busy meanwhile gets all of the repeats at once, and late.
        typed(modal, "F", [0.03 * number for number in range(1, 100)])
        await pilot.pause()
        assert app.screen is modal
        typed(modal, "F", [ARMED_AFTER_S + 0.01])
        await until(lambda: app.answers == [True])


async def test_a_second_press_right_after_it_came_up_does_not_confirm():
    app = ModalApp()
    async with app.run_test() as pilot:
        modal = await armed(app)
        typed(modal, "F", [ARMED_AFTER_S - 0.01])
        await pilot.pause()
        assert app.screen is modal


@pytest.mark.parametrize(("key", "answer"), [("enter", None), ("escape", None), ("F", True)])
async def test_how_it_is_answered(key: str, answer: object) -> None:
    app = ModalApp()
    async with app.run_test() as pilot:
        await armed(app)
        await pilot.press(key)
        await until(lambda: app.answers == [answer])


@pytest.mark.parametrize("key", ["f", "P", "y", "space"])
async def test_no_other_key_confirms(key: str) -> None:
    app = ModalApp()
    async with app.run_test() as pilot:
        modal = await armed(app)
        await pilot.press(key)
        assert app.answers == []
        assert app.screen is modal


@pytest.mark.parametrize("key", ["escape", "q"])
async def test_a_question_about_what_runs_closes_by_itself_when_it_has_ended(unreached, key):
    async with unreached() as driver:
        await driver.until(lambda: driver.app.connected is not None)
        await driver.put(*busy(), events.ActionAsked("sweep", "Sweep"), events.ActionStarted())
        await driver.press(key)
        await driver.until(lambda: isinstance(driver.app.screen, PlanModal))
        await driver.put(events.ActionFinished(True, "3 points"))
        await driver.until(lambda: not isinstance(driver.app.screen, PlanModal))
        await driver.press("6")
        await driver.until(lambda: driver.app.current_mode == "runs")
        assert driver.app.is_running
