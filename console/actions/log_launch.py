"""The launch behind a log that lies on this machine: a profile's, and the checkpoints that are named or are here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console import paths
from console.actions.read_checkpoint import from_files
from console.errors import UsageError
from console.launch.asked import Asked
from console.launch.asked import read as read_asked
from console.launch.command import render
from console.launch.library import Library
from console.launch.loader import Inputs, ResolvedProfile, resolve
from console.lint.context import Launch
from console.patches import folders
from console.wiring import reading

if TYPE_CHECKING:
    from collections.abc import Callable

    from console.wiring.checkpoint import Checkpoint
    from console.wiring.reading import Reading


def launch_of(profile: str | None, draft: str | None, target: str | None) -> Launch | None:
    """What is known of the launch; None when nothing was named.

    Raises UsageError for a profile that is not there or wrong, and for a named checkpoint that cannot be read.
    """
    resolved = _resolved(profile) if profile else None
    if resolved is None and draft is None and target is None:
        return None
    asked = read_asked(render(resolved).argv, dict(resolved.profile.env)) if resolved else Asked()
    return Launch(
        asked=asked,
        target=_checkpoint(reading.target, target, asked.value("model-path")),
        draft=_checkpoint(reading.draft, draft, asked.value("speculative-draft-model-path")),
        profile=resolved.profile if resolved else None,
    )


def _resolved(profile: str) -> ResolvedProfile:
    here = paths.locate()
    return resolve(profile, Library(here.profiles), Inputs(patch_options=folders.read(here.patches).options()))


def _checkpoint(read: Callable[[str], Reading], named: str | None, of_profile: str | None) -> Checkpoint | None:
    """The named checkpoint; else the profile's, where that happens to be on this machine."""
    path = named or of_profile
    if path is None:
        return None
    found = from_files(read(path))
    if found.config:
        return found
    if named:
        raise UsageError(f"{named}: {found.problem}", "Name a checkpoint's folder, or its config.json.")
    return None
