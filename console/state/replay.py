"""The slice of the recording that is shown in place of a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.state.replay_state import ReplayMoved, ReplayState

if TYPE_CHECKING:
    from console.state.events import Event


def reduce(state: ReplayState, event: Event) -> ReplayState:
    if isinstance(event, ReplayMoved):
        return ReplayState(event.source, event.at_s, event.ended)
    return state
