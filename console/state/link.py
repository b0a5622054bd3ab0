"""The slice of the connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.state.events import LinkChanged
from console.state.model import LinkState

if TYPE_CHECKING:
    from console.state.events import Event


def reduce(state: LinkState, event: Event) -> LinkState:
    if isinstance(event, LinkChanged):
        return LinkState(event.name, event.reason)
    return state
