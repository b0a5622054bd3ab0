"""The slice of the open nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.state.events import NodesSeen
from console.state.nodes_state import NodesState

if TYPE_CHECKING:
    from console.state.events import Event


def reduce(state: NodesState, event: Event) -> NodesState:
    if isinstance(event, NodesSeen):
        return NodesState(event.tabs, event.shown)
    return state
