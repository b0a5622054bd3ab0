"""Several nodes in one console: a tab each, one that is looked at, and nothing of one in the other."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from console.errors import Unreachable
from console.state import events
from console.tui.app import ConsoleApp
from console.tui.widgets.tabs import TabBar
from remote_agent.protocol import LedgerEntry
from tests.tui.driver import Driver
from tests.tui.events import FACTS, busy
from tests.unit.state.samples import telemetry

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from console.state.events import Event
    from console.tui.open_nodes import OpenNode

A, B = "gpu-node-1", "gpu-node-2"


@pytest.fixture(autouse=True)
def never_connected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ConsoleApp, "connect", lambda _app, _node: None)


@asynccontextmanager
async def console(size: tuple[int, int] = (160, 50)) -> AsyncIterator[tuple[Driver, OpenNode, OpenNode]]:
    app = ConsoleApp(A, lambda: pytest.fail("no node is wanted"), others=[(B, lambda: pytest.fail("nor this one"))])
    async with app.run_test(size=size, notifications=True) as pilot:
        first, second = app.nodes.all
        yield Driver(app, pilot), first, second


async def told(driver: Driver, node: OpenNode, *happened: Event) -> None:
    for event in happened:
        node.stream.put(event)
    node.stream.flush()
    driver.app.stream.flush()  # the tabs
    await driver.pilot.pause()


def read(*index_and_used: int | None) -> events.InventoryRead:
    return events.InventoryRead(FACTS, telemetry(*index_and_used), (), (), 0, "")


def tabs(driver: Driver) -> str:
    return str(driver.app.screen.query_one(TabBar)._said[0]).strip()


@pytest.mark.parametrize("size", [(80, 24), (160, 50)])
async def test_each_tab_tells_the_link_the_free_gpus_and_the_alarms(size: tuple[int, int]):
    cut = LedgerEntry("e", "/opt/sglang", ["eagle3-shapes"], "me@here", 1.0, "intent")
    async with console(size) as (driver, first, second):
        await told(driver, first, events.LinkChanged("connected"), read(0, 0, 1, 0))
        await told(driver, second, events.LinkChanged("connected"), read(0, 0, 1, 90 << 30))
        assert tabs(driver) == f"[{A} 2/2 free]  {B} 1/2 free"
        await told(driver, second, events.LinkChanged("reconnecting", "EOF"), events.LinkSilent(42))
        assert tabs(driver) == f"[{A} 2/2 free]  {B} 1/2 free reconnecting 42 s"
        half = events.InventoryRead(FACTS, telemetry(0, 0), (), (), 0, "", (cut,))
        await told(driver, second, events.LinkChanged("connected"), half)
        await told(driver, second, events.ActionAsked("free", "Free GPUs"), events.ActionFailed("EOF", unknown=True))
        assert tabs(driver) == f"[{A} 2/2 free]  {B} 1/1 free !half patched !Free GPUs unknown"
        assert tabs(driver)[:60] in driver.screen(), "the line is on the screen"


async def test_the_keys_go_round_and_each_node_is_shown_as_it_is():
    async with console() as (driver, first, second):
        await told(driver, first, *busy())
        await told(driver, second, events.LinkChanged("connected"), read(0, 0))
        assert "sglang::scheduler_TP0" in driver.screen()
        await driver.press("right_square_bracket")
        shown = driver.screen()
        assert f"[{B} 1/1 free]" in shown
        assert "sglang::scheduler_TP0" not in shown
        assert "no process holds GPU memory" in shown
        await driver.press("left_square_bracket")
        assert "sglang::scheduler_TP0" in driver.screen()
        await driver.press("left_square_bracket")
        assert driver.app.nodes.shown is second, "it goes round"


async def test_what_happens_beside_is_folded_and_drawn_when_it_is_looked_at():
    async with console() as (driver, _first, second):
        await told(driver, second, *busy(title="seen later"))
        assert "seen later" not in driver.screen()
        await driver.press("right_square_bracket")
        await driver.until_shown("seen later")


async def test_a_node_that_is_not_heard_is_greyed_with_its_age_and_the_other_is_not():
    async with console() as (driver, first, second):
        await told(driver, first, *busy())
        await told(driver, second, events.LinkChanged("connected"), read(0, 0))
        await told(driver, first, events.LinkChanged("reconnecting", "EOF"), events.LinkSilent(125))
        shown = driver.screen()
        assert "reconnecting (EOF) as of 2 min ago" in shown
        assert "(not live, 2 min old)" in shown
        assert "sglang::scheduler_TP0" in shown, "what was known last is still to be seen"
        assert driver.app.screen.has_class("-stale")
        await driver.press("right_square_bracket")
        assert not driver.app.screen.has_class("-stale")
        await told(driver, first, events.LinkChanged("connected"))
        await driver.press("right_square_bracket")
        assert not driver.app.screen.has_class("-stale")


async def test_a_notice_names_its_node_and_is_told_once():
    async with console() as (driver, _first, second):
        await told(driver, second, events.Noticed("warn", "the node was restarted: what ran there has ended"))
        await driver.press("right_square_bracket", "right_square_bracket")
        told_of = [each.message for each in driver.app._notifications]
        assert told_of == [f"{B}: the node was restarted: what ran there has ended"]


async def test_keys_act_on_the_node_that_is_looked_at():
    async with console() as (driver, first, second):
        await told(driver, first, *busy())
        await told(driver, second, *busy())
        await driver.press("right_square_bracket")
        await told(driver, second, events.ProfileSelected("kimi-k2.5-baseline"))
        assert first.state.profiles.selected == "kimi-k2.5-eagle3-debug"
        await told(driver, second, events.LinkChanged("reconnecting", "EOF"))
        await driver.press("F")
        await driver.until_shown("not connected: reconnecting (EOF)")


async def test_leaving_names_what_goes_on_and_where():
    async with console() as (driver, first, second):
        await told(driver, first, *busy())
        await told(driver, second, events.ActionAsked("launch", "Launch"), events.ActionStarted())
        assert driver.app.nodes.farewell()[0].endswith(f"on {A}")
        assert driver.app.nodes.busy() == [f"Launch is running on {B}"]


async def test_one_node_has_no_tabs_and_the_keys_say_why(forced):
    async with forced() as driver:
        await driver.put(*busy())
        assert not driver.app.screen.query_one(TabBar).display
        await driver.press("right_square_bracket")
        await driver.until_shown("one node is open")


async def test_there_is_a_failure_only_where_no_node_was_ever_reached():
    async with console() as (driver, first, second):
        first.failure = Unreachable("nobody there")
        assert driver.app.failure is None
        second.failure = Unreachable("nor here")
        assert driver.app.failure is first.failure
        await told(driver, second, events.LinkChanged("connected"))
        assert driver.app.failure is None
