"""The slice of sweeps."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from console.state.events import ActionCancelled, ActionFailed, SweepChosen, SweepMoved, SweepsRead

if TYPE_CHECKING:
    from console.state.events import Event
    from console.state.sweep_state import SweepState


def reduce(state: SweepState, event: Event) -> SweepState:
    match event:
        case SweepMoved(view):
            return replace(state, walked=view)
        case SweepChosen(sweep_id):
            return replace(state, chosen=sweep_id)
        case SweepsRead(stored):
            # What is still being walked is newer than the journal; what has ended stands there with its true state.
            walking = state.walked is not None and state.walked.state == "running"
            return replace(state, stored=stored, walked=state.walked if walking else None)
        case ActionFailed(message) if state.walked:
            return replace(state, walked=replace(state.walked, state="stopped", why=message))
        case ActionCancelled() if state.walked:
            return replace(state, walked=replace(state.walked, state="stopped", why="cancelled"))
    return state
