"""Two consoles on one node: who holds the lock is said where an action is refused for it, and before that."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from console.state import events
from remote_agent import lock
from tests.tui.events import FACTS, busy
from tests.unit.state.samples import telemetry

EVA = "eva@desk, patch.apply (agent pid 77 on gpu-node-1, since 2026-11-30 01:00:00 UTC)"


@pytest.mark.slow
async def test_a_change_that_meets_the_lock_names_its_holder(demo):
    async with demo.open((80, 24)) as driver:
        await driver.ask("P")
        path = Path(driver.node.config.lock_dir) / f"spec-console-{driver.node.agent.hello.machine_id[:16]}.lock"
        with lock.hold(str(path), "eva@desk", "servers.launch"):
            await driver.press("P")
            await driver.until_shown("eva@desk, servers.launch")
            assert "another console is changing this" in driver.screen()
            await driver.press("enter")
            assert driver.state.action.outcome.startswith("another console is changing this: eva@desk")
            await driver.until_shown("LOCKED by eva@desk")
        await driver.until(lambda: not driver.state.node.facts.lock_holder)
        assert "LOCKED" not in driver.screen()


async def test_the_head_names_another_holder_and_not_oneself(forced):
    async with forced((80, 24)) as driver:
        await driver.put(*busy())
        for holder, is_said in ((EVA, True), (EVA.replace("eva@desk", "me@here"), False)):
            facts = replace(FACTS, lock_holder=holder)
            await driver.put(events.InventoryRead(facts, telemetry(0, 0), (), (), 0, ""))
            assert ("LOCKED by eva@desk" in driver.screen()) is is_said
