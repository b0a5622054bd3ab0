"""The slice of the runbook's checklist; another profile's checklist would be a lie under this one's name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from console.state.events import (
    ActionCancelled,
    ActionFailed,
    ProfileSelected,
    RunbookCleared,
    RunbookEdited,
    RunbookLoaded,
    RunbookMoved,
)
from console.state.model import RunbookState

if TYPE_CHECKING:
    from console.state.events import Event
    from console.state.model import LoadedRunbook, Step


def reduce(state: RunbookState, event: Event) -> RunbookState:
    match event:
        case RunbookMoved(profile, steps):
            walked = tuple(_with_old_proof(step, state) for step in steps)
            return RunbookState(profile, walked, state.skip, _file_of(state, profile))
        case RunbookEdited(profile, steps, skip):
            return RunbookState(profile, steps, skip, _file_of(state, profile))
        case RunbookLoaded(profile, steps, file) if not state.is_walking:
            return RunbookState(profile, steps, file=file)
        case RunbookCleared():
            return RunbookState()
        case ProfileSelected(name) if state.steps and name != state.profile and not state.is_walking:
            return RunbookState()
        case ActionCancelled() if state.is_walking:
            return _stopped(state, "cancelled")
        case ActionFailed(message) if state.is_walking:
            return _stopped(state, message)
    return state


def _with_old_proof(step: Step, before: RunbookState) -> Step:
    """A walk that resumes skips what was done: its proof is the one of then."""
    old = next((each for each in before.steps if each.id == step.id), None)
    if step.state == "skipped" and old and old.state in ("done", "skipped"):
        return replace(step, proof=old.proof, elapsed_s=old.elapsed_s, made=old.made)
    return step


def _file_of(state: RunbookState, profile: str) -> LoadedRunbook | None:
    return state.file if profile == state.profile else None


def _stopped(state: RunbookState, why: str) -> RunbookState:
    steps = (replace(step, state="failed", proof=why) if step.state == "running" else step for step in state.steps)
    return replace(state, steps=tuple(steps))
