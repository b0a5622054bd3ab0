"""The slice of launch profiles."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from console.state.events import LaunchPlanFailed, LaunchPlanned, ProfileSelected, ProfilesListed

if TYPE_CHECKING:
    from console.state.events import Event
    from console.state.model import ProfilesState


def reduce(state: ProfilesState, event: Event) -> ProfilesState:
    match event:
        case ProfilesListed():
            return _listed(state, event)
        case ProfileSelected(name) if name != state.selected:
            return replace(state, selected=name, launch=None, problem="")
        # An answer for a profile that is no longer selected comes too late.
        case LaunchPlanned(view) if view.profile == state.selected:
            return replace(state, launch=view, problem="")
        case LaunchPlanFailed(profile, problem) if profile == state.selected:
            return replace(state, launch=None, problem=problem)
    return state


def _listed(state: ProfilesState, event: ProfilesListed) -> ProfilesState:
    names = [each.name for each in event.found]
    if state.selected in names:
        return replace(state, found=event.found)
    selected = event.preferred if event.preferred in names else next(iter(names), "")
    return replace(state, found=event.found, selected=selected, launch=None, problem="")
