"""What a file of an installed tree is beside what was released: ours, ours over an edit, or an edit by hand."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from console.patches import chain, edit
from console.patches.diff import unified

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from console.patches.library import Patch
    from remote_agent.protocol import LedgerEntry

MAX_DIFF_LINES = 400
_CHANGES = {
    "modified": "edited by hand",
    "missing": "removed",
    "extra": "not a file of it",
}


@dataclass(frozen=True, slots=True)
class OurChange:
    """A file that differs by our patches alone."""

    path: str
    patches: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HandEdit:
    """A file that differs by more than our patches; `change` is modified, missing or extra."""

    path: str
    change: str
    sha256_recorded: str | None
    sha256_now: str | None
    diff: str = ""
    """Against what was released or committed, without the lines of our patches."""
    why: str = ""
    """Why there is no diff, or what is doubtful in it."""
    patches: tuple[str, ...] = ()
    """Patches of ours that are in the file too."""

    def lines(self) -> Iterator[str]:
        over = f" (beside {', '.join(self.patches)})" if self.patches else ""
        yield f"{_CHANGES[self.change]}: {self.path}{over}{f': {self.why}' if self.why else ''}"
        if self.diff:
            yield from self.diff.splitlines()
        elif self.change == "modified":
            yield f"  sha256 released {self.sha256_recorded or 'unknown'}"
            yield f"  sha256 now      {self.sha256_now}"

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "patches": list(self.patches)}


def by_ledger(path: str, now: str | None, ledger: Sequence[LedgerEntry]) -> tuple[str | None, tuple[str, ...]]:
    """Go back from the hash `now` through the tree's ledger (oldest first), as far as its changes follow on each other.

    Return the hash before the first of them (None: there was no file) and the patches; `now` and () when none led
    there.
    """
    patches: list[str] = []
    for entry in reversed(ledger):
        for file in entry.files:
            if file.path == path and file.sha256_after == now:
                now = file.sha256_before
                patches += entry.patches
    return now, tuple(dict.fromkeys(reversed(patches)))


def without_patches(path: str, now: bytes, patches: Iterable[Patch]) -> tuple[bytes, tuple[str, ...]]:
    """Return the text without the lines of `patches`, and which of them had lines in it.

    Lines that carry a patch's mark and are not what this version of it puts in stay: they are an edit.
    """
    base = now
    found: list[Patch] = []
    for patch in patches:
        stripped = edit.strip(base, patch.mark)
        if stripped != base:
            base, found = stripped, [*found, patch]
    if not found:
        return now, ()
    wanted = [(patch, (path,)) for patch in found]
    again = [file for file in chain.changes(chain.plan_all(wanted, {path: base})) if file.path == path]
    if not again or again[0].new_text != now:
        return now, ()
    return base, tuple(patch.id for patch in found)


def runtime_of(path: str, now: bytes, patches: Iterable[Patch]) -> str | None:
    """Return the patch whose runtime file this is, to the byte."""
    return next((one.id for one in patches if one.helper.path == path and one.helper.text == now), None)


def has_our_heading(path: str, now: bytes, patches: Iterable[Patch]) -> bool:
    """Say whether it calls itself a runtime file of one of `patches`: an older copy, or an edited one."""
    return any(one.helper.path == path and now.startswith(one.helper.heading) for one in patches)


def shown(path: str, old: bytes | None, new: bytes) -> str:
    """Return the diff, cut after MAX_DIFF_LINES lines; `old` None: the release has no such file."""
    lines = unified(path, old or b"", new, new_file=old is None).splitlines(keepends=True)
    left = len(lines) - MAX_DIFF_LINES
    return "".join(lines[:MAX_DIFF_LINES]) + (f"… {left} more lines\n" if left > 0 else "")


def digest(files: Iterable[tuple[str, str | None]]) -> str:
    """Return one short word for a set of edits: paths and hashes in, 12 hex digits out."""
    told = "".join(f"{path} {sha256}\n" for path, sha256 in sorted(files, key=lambda file: file[0]))
    return hashlib.sha256(told.encode()).hexdigest()[:12]
