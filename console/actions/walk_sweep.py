"""Walk through the points of a sweep, however often it is interrupted: nothing that was measured is measured again.

The journal says which point is in flight; the node says whether its server still runs (its run record names sweep and
point) and whether its probe ended meanwhile. Both are adopted when they are what the point asks for, else it is done
again.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from console.actions import measure_point, time_cycles
from console.errors import (
    AgentStartFailed,
    ConsoleError,
    NegativeResult,
    NodeLost,
    Refused,
    ServerDied,
    Unreachable,
    UsageError,
)
from console.probe.sweep import RunSummary
from console.probe.sweep_outcome import SweepOutcome, judged, throughput_interval
from console.remote.agent import NodeRefused

if TYPE_CHECKING:
    from collections.abc import Callable

    from console.actions.node import Node, Say
    from console.actions.sweep import PlannedSweep
    from console.probe.stored import StoredRun
    from console.probe.sweep import SweepPoint

MOST_FAILURES = 3
"""Failures in a row that end a sweep: then it is not the points that are wrong."""
TRIES = 5
"""How often a point is taken up again after the connection was lost, before the sweep ends."""
LINK = (NodeLost, Unreachable, AgentStartFailed)
OF_THE_POINT = (ServerDied, NegativeResult, Refused, UsageError)


async def walk(node: Node, planned: PlannedSweep, say: Say, show: Callable[[SweepOutcome], None]) -> SweepOutcome:
    """Measure what is left. Raises what ends the sweep as a whole; the journal has it then as stopped."""
    begun = _Walk(node, planned, say, show)
    started = time.time()
    node.journal.set_sweep(planned.plan.sweep_id, "running")
    try:
        outcome = await begun.go()
    except (ConsoleError, asyncio.CancelledError) as error:
        node.journal.set_sweep(planned.plan.sweep_id, "stopped")
        say(f"go on with it: spec-console sweep {node.name} --resume {planned.plan.sweep_id}")
        begun.record(started, getattr(error, "message", "interrupted"))
        raise
    left = any(point.state in ("waiting", "left_out") for point in outcome.points)
    node.journal.set_sweep(planned.plan.sweep_id, "stopped" if left else "done")
    begun.record(started, outcome.stopped)
    return outcome


class _Walk:
    """One process's walk."""

    def __init__(self, node: Node, planned: PlannedSweep, say: Say, show: Callable[[SweepOutcome], None]) -> None:
        self._node = node
        self._planned = planned
        self._say = say
        self._show = show
        self._began = time.monotonic()
        self._failures = 0
        plan = planned.plan
        self._runs: dict[str, StoredRun] = {}
        self.outcome = SweepOutcome(plan.sweep_id, plan.profile, plan.points)
        for point in plan.points:
            if point.run:
                self._runs[point.run.run_id] = node.journal.get_run(point.run.run_id)
        self.outcome = self._judged()

    async def go(self) -> SweepOutcome:
        for number in range(1, len(self.outcome.points) + 1):
            point = self.outcome.at(number)
            if point.state not in ("waiting", "running"):
                continue
            if why := self._left_out(point):
                self._put(replace(point, state="left_out", why=why))
                continue
            await self._one(point)
            if self._failures >= MOST_FAILURES:
                why = f"{self._failures} in a row failed, the last: {self.outcome.at(number).why}"
                self.outcome = replace(self.outcome, stopped=why)
                break
        await measure_point.clear(self._node, self._planned, self._say)
        return self.outcome

    async def _one(self, point: SweepPoint) -> None:
        started = time.monotonic()
        self._say(f"[{point.number}/{len(self.outcome.points)}] {point.label}")
        self._put(point := replace(point, state="running", why=""))
        try:
            point = self._measured(point, await self._measure(point))
            if self._planned.request.cycle and point.kind == "point":
                point = await self._timed(point)
            self._failures = 0
        except (NodeRefused, *LINK):
            raise
        except OF_THE_POINT as error:
            self._failures += 1
            point = replace(point, state="failed", why=_why(error), died=isinstance(error, ServerDied))
        self._put(replace(point, elapsed_s=time.monotonic() - started))

    async def _measure(self, point: SweepPoint) -> measure_point.Measured:
        """A server and its probe go on while the connection is away: they are adopted when it is back."""
        for _ in range(TRIES - 1):
            try:
                return await measure_point.measure(self._node, self._planned, point, self._say)
            except NodeLost as error:
                self._say(f"{error.message}; the point is taken up again when the node answers")
                await self._node.agent.session.connected()
        return await measure_point.measure(self._node, self._planned, point, self._say)

    def _measured(self, point: SweepPoint, measured: measure_point.Measured) -> SweepPoint:
        run = measured.run
        self._runs[run.run_id] = run
        return replace(
            point,
            state="done",
            launch_id=run.launch_id,
            run=RunSummary.of(run),
            interval=throughput_interval(run.result.blocks),
            verified=measured.verified,
            **(_by_device_timer(run) if point.kind == "point" else {}),
            notes=run.result.notes,
        )

    async def _timed(self, point: SweepPoint) -> SweepPoint:
        """The measurement stands whatever becomes of this pass, so it is kept before."""
        self._node.journal.put_point(self._planned.plan.sweep_id, point)
        try:
            timed = await time_cycles.run(self._node, self._planned, point, self._say)
        except (NodeRefused, *LINK):
            raise
        except OF_THE_POINT as error:
            by_timer = f"{point.verify_why}; {time_cycles.PATCH}: " if point.verify_ms else ""
            return replace(point, verify_why=f"{by_timer}{_why(error)}")
        return replace(point, verify_ms=timed.verify_ms, verify_why=timed.source)

    def _left_out(self, point: SweepPoint) -> str:
        """Why a point is not begun: it would end after the budget, by the time that one took so far."""
        budget, plan = self._planned.plan.budget_s, self._planned.plan
        if budget is None or point.kind != "point":
            return ""
        took = [each.elapsed_s for each in self.outcome.points if each.state == "done" and each.elapsed_s]
        one = max(took) if took else plan.estimate.point_s
        if one is None:
            return ""
        spent, needed = time.monotonic() - self._began, 2 * one  # the last baseline is measured in any case
        if spent + needed <= budget:
            return ""
        return (
            f"{spent / 60:.1f} of {budget / 60:g} min are over, and it needs {needed / 60:.1f} with the last baseline"
        )

    def _put(self, point: SweepPoint) -> None:
        self._node.journal.put_point(self._planned.plan.sweep_id, point)
        self.outcome = self.outcome.with_point(point)
        self.outcome = self._judged()
        self._show(self.outcome)

    def _judged(self) -> SweepOutcome:
        return judged(self.outcome, self._runs, self._planned.varies)

    def record(self, started: float, stopped: str) -> None:
        request = {"sweep": self._planned.plan.sweep_id, "profile": self._planned.plan.profile}
        told = {"ok": self.outcome.ok, "stopped": stopped, "proof": self.outcome.proof}
        self._node.record(started, "sweep", request, told)


def _by_device_timer(run: StoredRun) -> dict[str, Any]:
    """The verify by SGLang's own timer, where the server had it on: then no patch is needed."""
    device = run.result.server.device if run.result.server else None
    if device is None or device.verify_ms is None:
        return {"verify_ms": None, "verify_why": "not asked for (--cycle), and no device timer told it"}
    return {"verify_ms": device.verify_ms, "verify_why": "SGLang's device timer, mean of all cycles"}


def _why(error: ConsoleError) -> str:
    """The first cause, in one line."""
    return " ".join(error.message.split())[:400]
