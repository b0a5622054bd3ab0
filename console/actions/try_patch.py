"""Try a patch on released trees: every release × file, before any node has it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from console.errors import UsageError
from console.patches.plan import wanted_paths
from console.patches.trial import FileTrial, trial
from console.validation import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from console.actions.node import Say
    from console.patches.library import Patch

Read = Callable[[str, "Sequence[str]"], Awaitable[Mapping[str, bytes | None]]]
"""Files of a release by path in the `sglang` package, None where it has none of that path."""


@dataclass(frozen=True, slots=True)
class Release:
    """One release and its files."""

    version: str
    files: tuple[FileTrial, ...]


@dataclass(frozen=True, slots=True)
class TrialOutcome:
    """Every release that was tried."""

    patch_id: str
    releases: tuple[Release, ...]

    @property
    def ok(self) -> bool:
        return all(each.is_right for release in self.releases for each in release.files)

    def lines(self) -> Iterator[str]:
        for release in self.releases:
            for each in release.files:
                yield _told(release.version, each)
        tried = [each for release in self.releases for each in release.files]
        wrong = sum(not each.is_right for each in tried)
        taken = sum(each.file.state == "appliable" for each in tried)
        held = f"{wrong} wrong" if wrong else "each compiles, is only added to and comes off to the byte"
        yield f"{self.patch_id}: {taken} files take it, {held}"

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.patch_id,
            "releases": [
                {"version": release.version, "files": [_file_json(each) for each in release.files]}
                for release in self.releases
            ],
        }


def paths(patch: Patch, only: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the files to try it on: all it knows, or those of `only` (paths in the package). Raises UsageError."""
    known = wanted_paths(patch, all_models=True)
    for each in only:
        if each not in known:
            near = nearest(each, known)
            raise UsageError(
                f"{patch.id} knows no file {each!r}", f"Nearest: {near}." if near else f"It knows: {', '.join(known)}."
            )
    return tuple(only) or known


async def run(patch: Patch, versions: Sequence[str], only: Sequence[str], read: Read, say: Say) -> TrialOutcome:
    """Read each release and try the patch on it. Raises what `read` raises, and UsageError for a strange file."""
    wanted = paths(patch, only)
    releases = []
    for version in dict.fromkeys(versions):
        say(f"reading sglang {version}")
        files = await read(version, wanted)
        releases.append(Release(version, await asyncio.to_thread(trial, patch, files)))
    return TrialOutcome(patch.id, tuple(releases))


def _told(version: str, each: FileTrial) -> str:
    faults = f"  WRONG: {'; '.join(each.faults)}" if each.faults else ""
    python = f" (Python {each.python})" if each.python else ""
    return f"{version:>12} {each.file.state:>14} {each.file.path}  {each.file.why}{python}{faults}"


def _file_json(each: FileTrial) -> dict[str, Any]:
    return {
        "path": each.file.path,
        "state": each.file.state,
        "why": each.file.why,
        "sites": list(each.file.sites),
        "python": each.python or None,
        "faults": list(each.faults),
    }
