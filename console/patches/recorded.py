"""A patch that is known by its record alone: an imported diff, or a patch of the user's own that is no more.

Its lines are not known, but the ledger has the hashes: what each file was, and what it was made into.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.patches.plan import FilePlan, PatchPlan

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from remote_agent.protocol import LedgerEntry, LedgerFile

IMPORTED = "import:"
"""Begins the id under which the ledger keeps an imported diff."""


def ids(ledger: Sequence[LedgerEntry]) -> tuple[str, ...]:
    """Return every patch that the ledger names, in the order of application."""
    return tuple(dict.fromkeys(each for entry in ledger for each in entry.patches))


def paths(patch_id: str, ledger: Sequence[LedgerEntry]) -> tuple[str, ...]:
    """Return the files that were changed with that patch, relative to the root of the tree."""
    return tuple(dict.fromkeys(file.path for entry in ledger if patch_id in entry.patches for file in entry.files))


def plan(patch_id: str, ledger: Sequence[LedgerEntry], now: Mapping[str, str | None]) -> PatchPlan:
    """Return where the patch stands: `applied`, or `drifted`. `ledger` is the tree's, oldest first; `now` has the hash
    of each file, None: not there. What a later entry made of the patch's own text counts as applied.
    """
    files: dict[str, FilePlan] = {}
    for index, entry in enumerate(ledger):
        for file in entry.files if patch_id in entry.patches else ():
            files[file.path] = _file(file, ledger[index + 1 :], now.get(file.path))
    return PatchPlan(patch_id, tuple(files.values()))


def _file(file: LedgerFile, later: Sequence[LedgerEntry], now: str | None) -> FilePlan:
    after = file.sha256_after
    for other in (other for entry in later for other in entry.files if other.path == file.path):
        if other.sha256_before == after:
            after = other.sha256_after
    if now == after:
        return FilePlan(file.path, "applied", "as it was written", now, now, None, "", ())
    why = "it was put back by hand" if now == file.sha256_before else "it was changed since"
    return FilePlan(file.path, "drifted", why, now, file.sha256_after, None, "", ())
