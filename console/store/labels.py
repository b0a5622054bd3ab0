"""Owns what a user puts on stored runs: tags, a note, the pin that makes one a baseline, deletion with its undo."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from console.errors import UsageError
from console.launch.secret_text import masked_text
from console.store.database import explained, transaction
from console.store.records import Records

if TYPE_CHECKING:
    from collections.abc import Iterable

_TAG = re.compile(r"[\w][\w.:/+-]{0,39}")
NOTE_LIMIT = 2000


@dataclass(frozen=True, slots=True)
class RunLabels:
    """What stands on one run."""

    tags: tuple[str, ...] = ()
    """Sorted."""
    note: str = ""
    pinned: bool = False
    """A baseline of its node, for where none is named."""


class LabelStore(Records):
    """Labels by the whole id of a run. Raises as every part of the journal; UsageError where there is no such run."""

    def labels(self, node: str | None = None) -> dict[str, RunLabels]:
        """Return the labels of every run that has any, by run id."""
        some = "note != '' OR pinned_at IS NOT NULL OR EXISTS (SELECT 1 FROM run_tags WHERE run_id = runs.id)"
        query = "SELECT id, note, pinned_at IS NOT NULL FROM runs WHERE (:node IS NULL OR node = :node)"
        with explained(self.path):
            rows = self._connection.execute(f"{query} AND ({some})", {"node": node}).fetchall()
            tags: dict[str, list[str]] = {}
            for run_id, tag in self._connection.execute("SELECT run_id, tag FROM run_tags ORDER BY tag"):
                tags.setdefault(run_id, []).append(tag)
        return {run_id: RunLabels(tuple(tags.get(run_id, ())), note, bool(pin)) for run_id, note, pin in rows}

    def tag(self, run_id: str, tags: Iterable[str]) -> None:
        """Put tags on a run; those that it has stay. Raises UsageError for a word that is none."""
        wanted = [(run_id, checked_tag(tag)) for tag in tags]
        with explained(self.path), transaction(self._connection):
            self._require(run_id)
            self._connection.executemany("INSERT OR IGNORE INTO run_tags (run_id, tag) VALUES (?, ?)", wanted)

    def untag(self, run_id: str, tags: Iterable[str]) -> None:
        """Take tags off a run. Raises UsageError for one that it does not have, and takes none off then."""
        with explained(self.path), transaction(self._connection):
            self._require(run_id)
            for tag in tags:
                values = (run_id, tag)
                if not self._connection.execute("DELETE FROM run_tags WHERE run_id = ? AND tag = ?", values).rowcount:
                    raise UsageError(f"run {run_id} has no tag {tag[:60]!r}", "`runs list` shows its tags.")

    def set_note(self, run_id: str, note: str) -> None:
        """Put a note on a run in place of the one before; an empty one takes it off. Secrets in it are masked."""
        if len(note) > NOTE_LIMIT:
            raise UsageError(f"a note has {NOTE_LIMIT} characters at most, this one {len(note)}")
        self._set(run_id, "note", masked_text(note.strip()))

    def pin(self, run_id: str, at: float | None) -> None:
        """Make a run a baseline of its node (the newest pin counts first); None as time takes the pin off."""
        self._set(run_id, "pinned_at", at)

    def delete(self, run_id: str, at: float) -> None:
        """Put a run where no list and no comparison finds it; nothing of it is removed."""
        self._set(run_id, "deleted_at", at)

    def undelete(self, reference: str = "") -> str:
        """Bring back a deleted run; returns its id. Raises as `find_deleted`."""
        found = self.find_deleted(reference)
        self._set(found, "deleted_at", None)
        return found

    def find_deleted(self, reference: str = "") -> str:
        """Return the id of a deleted run, by its id or the beginning of it; without one, that which was deleted last.

        Raises UsageError where that names no deleted run, or several.
        """
        query = (
            "SELECT id FROM runs WHERE deleted_at IS NOT NULL AND substr(id, 1, length(:id)) = :id ORDER BY deleted_at"
        )
        with explained(self.path):
            found = [run_id for (run_id,) in self._connection.execute(query, {"id": reference})]
        if reference in found or not reference:
            found = [reference] if reference else found[-1:]
        if not (found or reference):
            raise UsageError("no run is deleted", "There is nothing to bring back.")
        if len(found) != 1:
            told = "is the beginning of several deleted runs" if found else "names no deleted run"
            raise UsageError(f"{reference[:60]!r} {told}", "`spec-console runs list --deleted` lists them.")
        return str(found[0])

    def pins(self, node: str) -> tuple[str, ...]:
        """Return the ids of the pinned runs of a node, the newest pin first."""
        query = "SELECT id FROM runs WHERE node = ? AND pinned_at IS NOT NULL AND deleted_at IS NULL"
        with explained(self.path):
            rows = self._connection.execute(f"{query} ORDER BY pinned_at DESC, seq DESC", (node,)).fetchall()
        return tuple(run_id for (run_id,) in rows)

    def _set(self, run_id: str, column: str, value: float | str | None) -> None:
        with explained(self.path), transaction(self._connection):
            self._require(run_id)
            self._connection.execute(f"UPDATE runs SET {column} = ? WHERE id = ?", (value, run_id))

    def _require(self, run_id: str) -> None:
        if self._connection.execute("SELECT 1 FROM runs WHERE id = ?", (run_id,)).fetchone() is None:
            raise UsageError(f"There is no run {run_id!r}.", "`spec-console runs` lists them; @1 is the newest.")


def checked_tag(tag: str) -> str:
    """Return a tag. Raises UsageError for what is none."""
    if not _TAG.fullmatch(tag):
        raise UsageError(
            f"{tag[:60]!r} is no tag",
            "A tag has 1 to 40 letters, digits and, behind the first, . _ : / + -",
        )
    return tag
