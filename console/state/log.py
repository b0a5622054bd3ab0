"""The slice of the followed log."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from console.state.events import LogFailed, LogFed, LogOpened
from console.state.model import LogState

if TYPE_CHECKING:
    from console.state.events import Event


def reduce(state: LogState, event: Event) -> LogState:
    match event:
        case LogOpened(run_id, path, record, history):
            return LogState(run_id, path, record, history, history.version)
        case LogFed(run_id, version, read_to, size) if run_id == state.run_id:
            return replace(state, version=version, read_to=read_to, size=size, problem="")
        case LogFailed(run_id, problem) if run_id == state.run_id:
            return replace(state, problem=problem)
    return state
