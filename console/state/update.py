"""Folds events into the state: the one place that knows which reducer keeps which slice."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from console.state import (
    action,
    gpus,
    link,
    log,
    node,
    nodes,
    notices,
    patches,
    profiles,
    replay,
    runbook,
    runs,
    servers,
    sweep,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from console.state.events import Event
    from console.state.model import ConsoleState

REDUCERS: dict[str, Callable[[Any, Any], Any]] = {
    "link": link.reduce,
    "node": node.reduce,
    "nodes": nodes.reduce,
    "gpus": gpus.reduce,
    "servers": servers.reduce,
    "runbook": runbook.reduce,
    "action": action.reduce,
    "profiles": profiles.reduce,
    "patches": patches.reduce,
    "runs": runs.reduce,
    "sweep": sweep.reduce,
    "log": log.reduce,
    "notices": notices.reduce,
    "replay": replay.reduce,
}
"""Slice name → its reducer."""


def update(state: ConsoleState, event: Event) -> ConsoleState:
    """Return the state after `event`; the same object when nothing changed."""
    changed = {}
    for name, reduce in REDUCERS.items():
        before = getattr(state, name)
        after = reduce(before, event)
        if after is not before:
            changed[name] = after
    return replace(state, **changed) if changed else state


def fold(state: ConsoleState, events: Iterable[Event]) -> ConsoleState:
    """Return the state after all of `events`, in order."""
    for event in events:
        state = update(state, event)
    return state
