"""The slice of the connection."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from console.state.events import LinkChanged, LinkSilent
from console.state.model import LinkState

if TYPE_CHECKING:
    from console.state.events import Event


def reduce(state: LinkState, event: Event) -> LinkState:
    match event:
        case LinkChanged("connected", reason):
            return LinkState("connected", reason)
        case LinkChanged(name, reason):
            return LinkState(name, reason, state.age_s)
        case LinkSilent(age_s) if state.name != "connected":
            return replace(state, age_s=age_s)
    return state
