"""Which patches there are for one user: the catalog's and their own, and those of their own that are broken."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from console.errors import UsageError
from console.patches import library
from console.validation import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from console.patches.library import Patch


@dataclass(frozen=True, slots=True)
class KnownPatches:
    """Patches by id. A broken one hides no other: it is an error when it is named, and a warning otherwise."""

    patches: Mapping[str, Patch] = field(default_factory=library.patches)
    own: Mapping[str, str] = field(default_factory=dict)
    """The folder of each patch of the user's own."""
    broken: Mapping[str, UsageError] = field(default_factory=dict)
    """What is wrong with each of the user's own that is left out, by the name of its folder."""

    @property
    def ids(self) -> tuple[str, ...]:
        """Every usable patch, the catalog's first."""
        return tuple(self.patches)

    def get(self, patch_id: str) -> Patch:
        """Return the patch of that id; raise UsageError: what is wrong with it, or the nearest there is."""
        if patch_id in self.patches:
            return self.patches[patch_id]
        if patch_id in self.broken:
            raise self.broken[patch_id]
        near = nearest(patch_id, self.ids)
        hint = f"Nearest: {near}. " if near else ""
        raise UsageError(f"there is no patch {patch_id!r}", f"{hint}Patches: {', '.join(self.ids)}.")

    def options(self) -> dict[str, dict[str, str]]:
        """Return of each patch its options: the variable of the server's environment by the option's name."""
        return {
            patch.id: {option.name: option.env for option in library.options(patch)} for patch in self.patches.values()
        }

    def notes(self, ids: Iterable[str]) -> tuple[str, ...]:
        """Return what has to be said once beside a plan of these patches."""
        own = [
            f"{each} is your own patch ({self.own[each]}): its code runs inside the server"
            for each in ids
            if each in self.own
        ]
        return (*own, *(f"warning: {self._told(each)}" for each in self.broken))

    def _told(self, patch_id: str) -> str:
        error = self.broken[patch_id]
        return f"the patch {patch_id} is left out: {error.detail.splitlines()[0] if error.detail else error.message}"
