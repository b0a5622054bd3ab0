"""Tells of a sweep while it is walked: its points as they stand, what it said last, how long it has taken."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from console.actions import sweep
from console.probe.sweep_outcome import SweepOutcome
from console.state.events import SweepMoved
from console.tui import translate_sweep

if TYPE_CHECKING:
    from collections.abc import Callable

    from console.actions.node import Node, Say
    from console.actions.sweep import PlannedSweep
    from console.state.events import Event


class SweepCourse:
    """One walk, as events."""

    def __init__(self, planned: PlannedSweep, emit: Callable[[Event], None]) -> None:
        plan = planned.plan
        self._planned = planned
        self._emit = emit
        self._at = time.time()
        self._began = time.monotonic()
        self._said = ""
        self._outcome = SweepOutcome(plan.sweep_id, plan.profile, plan.points)

    async def walk(self, node: Node, say: Say) -> SweepOutcome:
        """Measure what is left. Raises as `sweep.run`."""

        def told(line: str) -> None:
            self._said = line
            say(line)
            self._tell("running")

        if self._planned.plan.resumed:
            self._at = node.journal.get_sweep(self._planned.plan.sweep_id).at
        outcome = await sweep.run(node, self._planned, told, self._show)
        self._outcome = outcome
        self._tell("stopped" if any(point.state in ("waiting", "left_out") for point in outcome.points) else "done")
        return outcome

    def _show(self, outcome: SweepOutcome) -> None:
        self._outcome = outcome
        self._tell("running")

    def _tell(self, state: str) -> None:
        view = translate_sweep.sweep_view(self._outcome, self._at, state)
        elapsed_s = time.monotonic() - self._began
        self._emit(SweepMoved(translate_sweep.with_progress(view, elapsed_s, self._left_s(), self._said)))

    def _left_s(self) -> float | None:
        """By what the points took so far, else by the plan's estimate."""
        left = sum(point.state in ("waiting", "running") for point in self._outcome.points)
        took = [point.elapsed_s for point in self._outcome.points if point.state == "done" and point.elapsed_s]
        one = sum(took) / len(took) if took else self._planned.plan.estimate.point_s
        return None if one is None else one * left
