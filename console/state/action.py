"""The slice of the action that runs or ran last."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from console.state.events import (
    ActionAsked,
    ActionCancelled,
    ActionDeclined,
    ActionFailed,
    ActionFinished,
    ActionPlanned,
    ActionSaid,
    ActionStarted,
)
from console.state.model import ActionState

if TYPE_CHECKING:
    from console.state.events import Event

LINES_LIMIT = 500
"""Lines of narration kept, the newest."""


def reduce(state: ActionState, event: Event) -> ActionState:
    match event:
        case ActionAsked(id, title):
            return ActionState(id, title, "planning")
        case ActionPlanned():
            return replace(state, phase="planned")
        case ActionDeclined():
            return ActionState()
        case ActionStarted():
            return replace(state, phase="running")
        case ActionSaid(line):
            return replace(state, lines=(*state.lines, line)[-LINES_LIMIT:])
    return _ended(state, event)


def _ended(state: ActionState, event: Event) -> ActionState:
    match event:
        case ActionFinished(ok, proof, lines):
            kept = (*state.lines, *lines)[-LINES_LIMIT:]
            return replace(state, phase="done" if ok else "failed", outcome=proof, lines=kept)
        case ActionFailed(message, unknown):
            return replace(state, phase="unknown" if unknown else "failed", outcome=message)
        case ActionCancelled():
            return replace(state, phase="cancelled", outcome="a server that it had started stays; a probe is ended")
    return state
