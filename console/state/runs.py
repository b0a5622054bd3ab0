"""The slice of stored runs and of the two that are compared."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from console.state.events import RunsCompared, RunsRead, RunsReadFailed

if TYPE_CHECKING:
    from console.state.events import Event
    from console.state.runs_state import RunsState


def reduce(state: RunsState, event: Event) -> RunsState:
    match event:
        case RunsRead(runs):
            return replace(state, runs=runs, problem="")
        case RunsReadFailed(problem):
            return replace(state, problem=problem)
        case RunsCompared(baseline, candidate, comparison):
            return replace(state, baseline=baseline, candidate=candidate, comparison=comparison)
    return state
