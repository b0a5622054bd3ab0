"""The slice of the followed log."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from console.state.events import LogFailed, LogFed, LogFolded, LogJudged, LogOpened
from console.state.log_state import LogState

if TYPE_CHECKING:
    from console.state.events import Event


def reduce(state: LogState, event: Event) -> LogState:
    match event:
        case LogOpened(run_id, path, record, window, marks, door):
            return LogState(run_id, path, record, window, marks, door, window.version)
        case LogFed(run_id, version, read_to, size) if run_id == state.run_id:
            return replace(state, version=version, read_to=read_to, size=size, problem="")
        case LogFolded(run_id, reading, behind, skipped) if run_id == state.run_id:
            return replace(state, reading=reading, fold_behind=behind, skipped=skipped)
        case LogJudged(run_id, record) if run_id == state.run_id:
            return replace(state, record=record)
        case LogFailed(run_id, problem) if run_id == state.run_id:
            return replace(state, problem=problem)
    return state
