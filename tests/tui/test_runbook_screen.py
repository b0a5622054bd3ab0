"""The runbook on screen 1: edited by keys and commands, kept as a file, and from each step to what it did."""

from __future__ import annotations

from dataclasses import replace

import pytest

from console.actions import runbook_file
from console.state import events
from console.state.model import Step
from console.tui.modals.command_line import CommandLine
from console.tui.screens.logs import LogsScreen
from tests.tui.events import RUN_ID, busy
from tests.tui.test_command_line import entered, typed
from tests.tui.test_runbook_edit import FRESH, LISTED, LOOP, PROFILE, names

RUN = "20261130T014508-85ff8f"


@pytest.mark.parametrize("size", [(80, 24), pytest.param((160, 50), marks=pytest.mark.slow)])
async def test_steps_are_left_out_put_in_and_begun_at_by_keys(forced, size: tuple[int, int]) -> None:
    async with forced(size) as driver:
        await driver.put(LISTED, events.LinkChanged("connected"))
        await driver.until_shown("Runbook 0/7")
        await driver.press("s")  # where the steps are not seen, it brings them
        await driver.until(lambda: bool(driver.app.screen.query_one("#runbook").region))
        if size[0] > 80:
            await driver.press("s")  # that was the step of the cursor already
        else:
            assert names(driver.state) == LOOP
        await driver.pilot.pause()
        driver.app.screen.query_one("#runbook").focus()
        await driver.press("j", "s")
        await driver.until(lambda: names(driver.state)[1] == "-patch")
        await driver.until_shown("left out")
        await driver.press("i")
        await driver.until(lambda: isinstance(driver.app.screen, CommandLine) and typed(driver) == "runbook.insert ")
        await driver.until_shown("KIND at the end")
        await driver.press(*"stop", "enter")
        await driver.until(lambda: names(driver.state)[-1] == "stop")
        await entered(driver, "runbook.insert prob")
        await driver.until_shown("no step 'prob' can be put in")
        await driver.press("G", "b")
        await driver.until(lambda: [name for name in names(driver.state) if name[0] != "-"] == ["stop"])


@pytest.mark.slow
async def test_a_step_leads_to_what_it_did(forced):
    steps = (
        Step("patch", "", "done", "overlaid"),
        Step("launch", "", "done", "ready", made=RUN_ID),
        Step("probe", "", "done", "31 tok/s", made=RUN),
        Step("shapes", "", "done", "21504", made=RUN_ID),
        Step("compare", "", "waiting"),
    )
    async with forced() as driver:
        await driver.put(*busy(), events.RunbookMoved(PROFILE, steps))
        await entered(driver, "runbook.open patch")
        await driver.until(lambda: driver.app.current_mode == "patches")
        await entered(driver, "runbook.log launch")
        told = f"step launch: server {RUN_ID}, from byte 0 of its log"
        await driver.until(lambda: told in [each.message for each in driver.app._notifications])
        assert driver.app.current_mode == "logs"
        await entered(driver, "runbook.open shapes")
        screen = driver.app.screen
        await driver.until(lambda: isinstance(screen, LogsScreen) and screen.query_one("#logs").has_class("-shapes"))
        await entered(driver, "runbook.open probe")
        await driver.until(lambda: driver.app.current_mode == "probe")
        await entered(driver, "runbook.log compare")
        await driver.until_shown("step compare has done nothing yet")


@pytest.mark.slow
async def test_it_is_kept_as_a_file_that_the_verb_walks(demo):
    async with demo.open((80, 24)) as driver:
        await driver.until(lambda: driver.state.profiles.selected == PROFILE)
        await entered(driver, "runbook.skip compare")
        await entered(driver, "runbook.insert probe:shapes")
        path = demo.home / "mine.yaml"
        await entered(driver, f"runbook.save {path}")
        await driver.until(path.exists)
        form = runbook_file.read(path)
        assert (form.profile, list(form.steps)) == (PROFILE, [*LOOP[:5], "probe", "shapes"])
        await entered(driver, f"runbook.save {path}")
        await driver.until(lambda: any("is there already" in each.message for each in driver.app._notifications))
        await entered(driver, "select kimi-k2.5-baseline")
        await driver.until(lambda: not driver.state.runbook.steps)
        await driver.press("t")
        await driver.until(lambda: isinstance(driver.app.screen, CommandLine) and typed(driver) == "runbook.load ")
        await driver.press(*str(path), "enter")
        await driver.until(lambda: driver.state.profiles.selected == PROFILE)
        assert names(driver.state) == [*LOOP[:5], "probe-2", "shapes"]
        await driver.until_shown("mine.yaml: kimi")


@pytest.mark.slow
async def test_it_is_not_edited_while_it_is_walked_or_for_another_profile(forced):
    async with forced((80, 24)) as driver:
        await driver.put(LISTED, events.RunbookMoved(PROFILE, (replace(FRESH.steps[0], state="running"),)))
        await driver.press("s")
        await driver.until_shown("the runbook is walked just now")
