"""What the Runs screen changes in the journal, and how it is told."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from console.store.journal import Journal


@dataclass(frozen=True, slots=True)
class RunChange:
    """One change of one stored run. `text` is the note, or the tags that it is to have and no others."""

    what: Literal["tags", "note", "pin", "unpin", "delete", "undelete"]
    run_id: str = ""
    text: str = ""


def apply(journal: Journal, change: RunChange) -> str:
    """Change the journal; return what is to be said of it, empty where the screen shows it. Raises ConsoleError."""
    run_id, now = change.run_id, time.time()
    if change.what == "tags":
        had, wanted = set(_tags(journal, run_id)), set(change.text.replace(",", " ").split())
        journal.tag(run_id, wanted - had)
        journal.untag(run_id, had - wanted)
    elif change.what == "note":
        journal.set_note(run_id, change.text)
    elif change.what in ("pin", "unpin"):
        journal.pin(run_id, now if change.what == "pin" else None)
    elif change.what == "delete":
        journal.delete(run_id, now)
        return f"run {run_id} is deleted; {{runs.undo}} brings it back"
    else:
        return f"run {journal.undelete(run_id)} is back"
    return ""


def _tags(journal: Journal, run_id: str) -> tuple[str, ...]:
    labels = journal.labels().get(run_id)
    return labels.tags if labels else ()
