"""Swap files in and put them back, so that a crash at any instant leaves each file its original or its new text.

The ledger says what is about to be done before the first file is touched, and every new text lies whole beside its file
before the first one is swapped. What was cut short is finished or undone from the ledger alone. The caller holds the
lock of the tree.
"""

from __future__ import annotations

import dataclasses
import glob
import os
from typing import List, Optional, Tuple

from remote_agent import ledger, tree
from remote_agent.protocol import AgentError, FileOutcome, LedgerEntry, LedgerFile
from remote_agent.state_dir import StateDir, move_in, remove_leftovers, stage, sync_folder, write_atomic
from remote_agent.steps import reached

IN_PLACE_HINT = "`--delivery overlay` writes nothing into the tree."


def begin(state: StateDir, entry: LedgerEntry) -> List[FileOutcome]:
    """Write the intent, then swap every file in. Raises AgentError when one could not be swapped."""
    reached("apply.kept")
    ledger.write(state, entry)
    reached("apply.intent")
    return swap_in(state, entry)


def swap_in(state: StateDir, entry: LedgerEntry) -> List[FileOutcome]:
    """Bring every file of an intent to its new text. On a failure all is taken back, and AgentError says why."""
    try:
        staged = [(file, *_staged(state, entry, file)) for file in entry.files if _state(entry, file) != "applied"]
        for file, temporary, path in staged:
            reached("apply.swapping")
            if _state(entry, file) != "original":
                raise AgentError("hash_mismatch", f"{path} was changed a moment ago", "Plan again.")
            with tree.errors_of(path):
                move_in(temporary, path)
            reached("apply.swapped")
    except AgentError as error:
        raise _taken_back(state, entry, error) from None
    reached("apply.done")
    ledger.write(state, dataclasses.replace(entry, state="applied"))
    reached("apply.applied")
    return [FileOutcome(file.path, "swapped", file.sha256_after) for file in entry.files]


def mark(state: StateDir, entry: LedgerEntry) -> LedgerEntry:
    """Write down that an entry is about to be taken back."""
    marked = dataclasses.replace(entry, state="reverting")
    ledger.write(state, marked)
    reached("restore.marked")
    return marked


def put_back(state: StateDir, entry: LedgerEntry) -> List[FileOutcome]:
    """Put every file of an entry back and close it; a file that someone changed on top is left and stays in it.

    Raises AgentError when the operating system forbids it: the entry says reverting then, and it can be tried again.
    """
    outcomes = [_put_back(state, entry, file) for file in entry.files]
    reached("restore.done")
    left = [file for file, done in zip(entry.files, outcomes) if done.outcome == "drifted"]
    if left:
        ledger.write(state, dataclasses.replace(entry, state="drifted", files=left))
    else:
        ledger.close(state, entry)
    reached("restore.closed")
    return outcomes


def files_now(entry: LedgerEntry) -> List[FileOutcome]:
    """What each file of an entry is now: original, applied, drifted."""
    return [FileOutcome(file.path, _state(entry, file), None) for file in entry.files]


def remove_temporaries(entry: LedgerEntry) -> None:
    """Remove what a crash left beside the files of an entry."""
    for folder in {os.path.dirname(os.path.join(entry.root, file.path)) for file in entry.files}:
        remove_leftovers(folder)


def why_not(state: StateDir, entry: LedgerEntry) -> str:
    """Why an intent cannot be finished; empty when it can."""
    for file in entry.files:
        if _state(entry, file) == "drifted":
            return f"{file.path} is neither its original nor its new text"
        try:
            for sha256 in filter(None, (file.sha256_before, file.sha256_after)):
                state.get_blob(sha256)
        except AgentError as error:
            return f"{file.path}: {error.message}"
    return ""


def _staged(state: StateDir, entry: LedgerEntry, file: LedgerFile) -> Tuple[str, str]:
    path = tree.inside(entry.root, file.path)
    with tree.errors_of(path):
        temporary = stage(path, state.get_blob(file.sha256_after), file.mode)
    reached("apply.staged")
    return temporary, path


def _taken_back(state: StateDir, entry: LedgerEntry, error: AgentError) -> AgentError:
    """Undo what was swapped of an intent; the error to raise then."""
    hint = error.hint or (IN_PLACE_HINT if error.kind == "permission" else "")
    try:
        remove_temporaries(entry)
        if any(each.outcome != "original" for each in files_now(entry)):
            entry = mark(state, entry)
        put_back(state, entry)
    except (AgentError, OSError) as again:
        why = again.message if isinstance(again, AgentError) else str(again)
        return AgentError("failed", f"{error.message}; taking back what was swapped failed too: {why}", hint)
    return AgentError(error.kind, f"nothing was changed: {error.message}", hint)


def _put_back(state: StateDir, entry: LedgerEntry, file: LedgerFile) -> FileOutcome:
    try:
        path = tree.inside(entry.root, file.path)
        now = tree.hash_of(path).sha256
        if now == file.sha256_before:
            if now is None:
                _remove_compiled(path)
            return FileOutcome(file.path, "original", now)
        if now != file.sha256_after:
            return _left(state, entry, file, path, now)
        original = None if file.sha256_before is None else state.get_blob(file.sha256_before)
    except AgentError as error:
        return FileOutcome(file.path, "drifted", None, f"it is left as it is: {error.message}")
    reached("restore.swapping")
    with tree.errors_of(path):
        if original is None:
            os.unlink(path)
            reached("restore.removed")
            _remove_compiled(path)
            sync_folder(os.path.dirname(path))
        else:
            write_atomic(path, original, file.mode)
    reached("restore.swapped")
    return FileOutcome(file.path, "removed" if original is None else "restored", file.sha256_before)


def _left(state: StateDir, entry: LedgerEntry, file: LedgerFile, path: str, now: Optional[str]) -> FileOutcome:
    """A file that is neither: with our lines still in it it stays in the ledger, else it is none of ours any more."""
    before = b"" if file.sha256_before is None else state.get_blob(file.sha256_before)
    there = b"" if now is None else tree.read(path)[0]
    if _holds_ours(before, state.get_blob(file.sha256_after), there):
        return FileOutcome(file.path, "drifted", now, "it was changed after the patch; it is left as it is")
    kept = "there was none before the patch"
    if file.sha256_before is not None:
        kept = f"the original of what was patched is kept in {ledger.keep_aside(state, entry, file)}"
        reached("restore.aside")
    return FileOutcome(file.path, "replaced", now, f"it was replaced since and holds nothing of the patch; {kept}")


def _holds_ours(before: bytes, after: bytes, now: bytes) -> bool:
    """Whether a changed file still holds a line that the patch brought; or, when it only took lines, lacks them all."""
    was, new, here = ({line.strip() for line in text.splitlines()} - {b""} for text in (before, after, now))
    return bool((new - was) & here) if new - was else not (was - new) & here


def _state(entry: LedgerEntry, file: LedgerFile) -> str:
    try:
        now = tree.hash_of(tree.inside(entry.root, file.path)).sha256
    except AgentError:
        return "drifted"
    return {file.sha256_before: "original", file.sha256_after: "applied"}.get(now, "drifted")


def _remove_compiled(path: str) -> None:
    """Remove what Python compiled from a file that we made."""
    folder, name = os.path.split(path)
    for compiled in glob.glob(os.path.join(glob.escape(folder), "__pycache__", os.path.splitext(name)[0] + ".*.pyc")):
        os.unlink(compiled)
