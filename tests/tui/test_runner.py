"""One action from its key to its end: what is told of it, and in which order the node is read anew for that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from console.errors import ConsoleError, NegativeResult
from console.state import events
from console.tui import runner
from console.tui.modals.plan import PlanModal
from console.tui.operations import Planned
from console.tui.widgets.bars import ActionLine
from tests.tui.events import FACTS, busy
from tests.unit.state.samples import telemetry

if TYPE_CHECKING:
    from tests.tui.driver import Driver

FREED = events.InventoryRead(FACTS, telemetry(0, 0), (), (), 0, "")


@dataclass
class Outcome:
    """All that is asked of one."""

    ok: bool = True
    proof: str = "8/8 GPUs free"

    def lines(self):
        return iter(())


class FakeNode:
    """Keeps no plan."""

    name = "gpu-node-1"

    def record(self, *_given: Any) -> None:
        return None


async def walked(driver: Driver, monkeypatch: pytest.MonkeyPatch, error: ConsoleError | None = None) -> list[str]:
    """Confirm F on a node that is not there; return the names of what happened."""
    told: list[events.Event] = []
    app = driver.app
    await driver.put(*busy())
    app.stream.tap = told.extend

    async def run(_say: object) -> Outcome:
        if error:
            raise error
        return Outcome()

    async def plan(*_given: object) -> Planned:
        return Planned(("stop a server",), run)

    async def reread() -> None:
        app.stream.put(FREED)

    monkeypatch.setitem(runner.PLANS, "free", plan)
    started = runner.Runner(app, FakeNode(), app.stream, reread, lambda: None)  # type: ignore[arg-type]
    started.start(app.table["free"])
    await driver.until(lambda: isinstance(app.screen, PlanModal) and app.screen.is_armed)
    assert app.state.action.phase == "planned"
    said = str(app.screen_stack[0].query_one(ActionLine)._said[0])
    assert said.startswith("Free GPUs: waits for your answer to its plan")
    await driver.press("F")
    await driver.until(lambda: not app.state.action.is_busy)
    return [type(each).__name__ for each in told]


async def test_the_node_is_read_anew_before_the_end_is_told(forced, monkeypatch):
    async with forced((80, 24)) as driver:
        order = await walked(driver, monkeypatch)
        assert order == ["ActionAsked", "ActionPlanned", "ActionStarted", "InventoryRead", "ActionFinished"]
        shown = driver.screen()
        for one_reading in ("GPUs 1/1 free", "no server", "Free GPUs: done", "8/8 GPUs free"):
            assert one_reading in shown


@pytest.mark.slow
async def test_after_a_failure_too(forced, monkeypatch):
    async with forced((80, 24)) as driver:
        order = await walked(driver, monkeypatch, NegativeResult("still held"))
        assert order[-2:] == ["InventoryRead", "ActionFailed"]
