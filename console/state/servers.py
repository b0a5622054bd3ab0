"""The slice of servers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from console.state.events import InventoryRead, NodeNamed, ServerChosen

if TYPE_CHECKING:
    from console.state.events import Event
    from console.state.model import ServersState


def reduce(state: ServersState, event: Event) -> ServersState:
    match event:
        case NodeNamed(operator=operator):
            return replace(state, operator=operator)
        case InventoryRead(runs=runs):
            return replace(state, runs=runs)
        case ServerChosen(run_id):
            return replace(state, chosen=run_id)
    return state
