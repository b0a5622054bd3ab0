"""The slice of the installed tree and its patches."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from console.state.events import TreeRead, TreeReadFailed
from console.state.model import PatchesState

if TYPE_CHECKING:
    from console.state.events import Event


def reduce(state: PatchesState, event: Event) -> PatchesState:
    match event:
        case TreeRead(root, version, profile, files, ledger, overlay):
            return PatchesState(root, version, profile, files, ledger, overlay)
        case TreeReadFailed(problem):
            return replace(state, files=(), problem=problem)
    return state
