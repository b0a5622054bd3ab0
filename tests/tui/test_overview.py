"""All open nodes on one list: what matters of each, and Enter goes there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from console.state import events
from console.tui.app import ConsoleApp
from console.tui.modals.overview import OverviewModal
from tests.tui.events import FACTS, RUN_ID, Log, busy
from tests.tui.test_command_line import entered
from tests.tui.test_nodes import A, B, console, told
from tests.unit.state.samples import holder, telemetry

DECODE = (
    "[2026-11-30 01:45:20 TP0] Decode batch, #running-req: 1, #token: 120, token usage: 0.00, accept len: 3.40, "
    "accept rate: 0.68, cuda graph: True, gen throughput (token/s): 54.80, #queue-req: 0\n"
)
LOCKED = replace(FACTS, lock_holder="bob@there, gpus.terminate (agent pid 77 on gpu-node-2)")
COLLEAGUE = (holder(0, "foreign", "python train.py", pid=4242),)


@pytest.fixture(autouse=True)
def never_connected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ConsoleApp, "connect", lambda _app, _node: None)


@pytest.mark.parametrize("size", [(80, 24), pytest.param((160, 50), marks=pytest.mark.slow)])
async def test_each_node_is_told_and_enter_goes_there(size: tuple[int, int]):
    async with console(size) as (driver, first, second):
        await told(driver, first, *busy(Log(DECODE.encode())))
        await told(driver, second, events.LinkChanged("connected"))
        await told(driver, second, events.InventoryRead(LOCKED, telemetry(0, 8 << 30, 1, 0), COLLEAGUE, (), 0, ""))
        await told(driver, second, events.LinkChanged("reconnecting", "EOF"), events.LinkSilent(42))
        await driver.press("0")
        await driver.until(lambda: isinstance(driver.app.screen, OverviewModal))
        lines = driver.screen().splitlines()
        one = next(line for line in lines if A in line and "connected" in line and "6/8" in line)
        for known in (":8000", "3.40", "54.8"):
            assert known in one
        assert any(B in line and "reconnecting" in line and "1/2" in line and "lock: bob" in line for line in lines)
        await driver.press("j")
        await driver.until_shown("lock held by bob@there")
        assert "reconnecting (EOF), as of 42 s ago" in driver.screen()
        await driver.press("enter")
        await driver.until(lambda: driver.app.nodes.shown is second)
        assert not isinstance(driver.app.screen, OverviewModal)


@pytest.mark.slow
async def test_it_stays_true_while_it_is_open():
    async with console((80, 24)) as (driver, first, second):
        await told(driver, first, *busy())
        await driver.press("0")
        await driver.until_shown(RUN_ID)
        await told(driver, second, events.LinkChanged("connected"))
        await told(driver, second, events.InventoryRead(FACTS, telemetry(0, 0), (), (), 0, ""))
        await driver.until_shown("1/1")


async def test_a_command_goes_to_a_node_by_its_name():
    async with console((80, 24)) as (driver, _first, second):
        await entered(driver, f"nodes {B}")
        await driver.until(lambda: driver.app.nodes.shown is second)
        await entered(driver, "nodes")
        await driver.until(lambda: isinstance(driver.app.screen, OverviewModal))


@pytest.mark.slow
async def test_with_one_node_it_says_why_not(forced):
    async with forced((80, 24)) as driver:
        await driver.press("0")
        await driver.until_shown("one node is open")
