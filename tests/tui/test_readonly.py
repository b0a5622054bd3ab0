"""A read-only console: it says so, refuses in the UI, below it and on the node; and is unlocked by a name typed out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from console.errors import STARTED_READONLY
from console.state import events
from console.tui.keys import KEYS
from console.tui.modals.plan import PlanModal
from console.tui.modals.typed import TypedModal
from console.tui.settings import Settings
from remote_agent.protocol import AgentError
from tests.tui.events import busy
from tests.tui.test_command_line import entered
from tests.unit.state.samples import hello

LOCKED = Settings(readonly=STARTED_READONLY)


async def test_it_says_so_before_there_is_a_connection_and_refuses(forced):
    async with forced((80, 24), LOCKED) as driver:
        assert "READ-ONLY" in driver.screen().splitlines()[0]
        await driver.press("F")
        await driver.pilot.pause()
        (said,) = driver.app._notifications
        assert (said.title, said.message) == ("Free GPUs: not now", f"read-only: {STARTED_READONLY}")
        assert driver.state.action.phase == "idle"


@pytest.mark.slow
async def test_every_change_says_why_not_on_every_screen(forced):
    async with forced((80, 24), LOCKED) as driver:
        assert "READ-ONLY" in driver.screen().splitlines()[0], "before there is a connection"
        await driver.put(*busy())
        for number in "123456":
            await driver.press(number)
            await driver.pilot.pause()
            assert "READ-ONLY" in driver.screen().splitlines()[0]
        for key in KEYS:
            if key.group == "change":
                assert driver.app.table.why_not(key.id, driver.state) == f"read-only: {STARTED_READONLY}"
        await driver.press("F")
        await driver.until_shown("read-only: the console was")
        assert driver.state.action.phase == "idle"


@pytest.mark.slow
async def test_it_is_locked_by_a_command_and_unlocked_by_the_nodes_name_alone(forced):
    async with forced() as driver:
        await driver.put(*busy())
        await entered(driver, "readonly")
        await driver.until_shown("READ-ONLY")
        await entered(driver, "unlock")
        await driver.until(lambda: isinstance(driver.app.screen, TypedModal))
        await driver.press(*"yes", "enter")
        await driver.until_shown("yes is not gpu-node-1: nothing has changed")
        await driver.press("escape")
        assert driver.state.node.readonly
        await entered(driver, "unlock")
        await driver.until(lambda: isinstance(driver.app.screen, TypedModal))
        await driver.press(*"gpu-node-1", "enter")
        await driver.until(lambda: not driver.state.node.readonly)
        assert "READ-ONLY" not in driver.screen()


@pytest.mark.slow
async def test_an_agent_that_cannot_write_is_not_unlocked_from_here(forced):
    async with forced() as driver:
        await driver.put(*busy(), events.AgentGreeted(hello(True, "no home")))
        assert "READ-ONLY" in driver.screen()
        await entered(driver, "unlock")
        await driver.until_shown("the agent itself is read-only: no home")


@pytest.mark.slow
async def test_it_is_not_locked_under_a_running_action(forced):
    async with forced() as driver:
        await driver.put(*busy(), events.ActionAsked("probe", "Benchmark"), events.ActionStarted())
        await entered(driver, "readonly")
        await driver.until_shown("Benchmark is running")
        assert not driver.state.node.readonly


@pytest.mark.slow
async def test_the_agent_of_a_read_only_console_refuses_and_after_the_unlock_does_what_it_is_told(demo):
    async with demo.open(readonly=True) as driver:
        session = driver.node.agent.session
        assert session.hello.readonly
        with pytest.raises(AgentError, match=f"read-only: {STARTED_READONLY}"):
            await session.call("servers.stop", {"run_id": "x"})
        # Whoever came by what the keys refuse: the runner refuses it too.
        driver.app.connected.start(replace(driver.app.table["free"]))
        await driver.until_shown("Free GPUs failed")
        await driver.press("escape")
        assert driver.state.action.outcome.startswith("read-only")
        await entered(driver, "unlock")
        await driver.until(lambda: isinstance(driver.app.screen, TypedModal))
        await driver.press(*"demo", "enter")
        await driver.until(lambda: driver.state.link.is_up and not driver.state.node.why_readonly)
        assert not session.hello.readonly
        await driver.ask("F")
        assert isinstance(driver.app.screen, PlanModal)
        await driver.press("escape")
        await entered(driver, "readonly")
        await driver.until(lambda: driver.state.link.is_up and bool(session.hello and session.hello.readonly))
        await driver.press("F")
        await driver.until_shown("read-only: the console was told to")
