"""Changes that a crash cut short: what they are, and how each is finished or undone."""

from __future__ import annotations

import contextlib
import os
from typing import ContextManager, List, Optional

from remote_agent import ledger, lock, overlay_folders, swaps
from remote_agent.protocol import AgentError, CutShort, LedgerEntry, Recovered, Recoveries, Unfinished
from remote_agent.state_dir import StateDir, leftovers, remove_leftovers
from remote_agent.steps import reached


def look(state: StateDir, root: str) -> Unfinished:
    """What was cut short, of one tree when `root` is given. Takes no lock and changes nothing."""
    found = [
        CutShort(entry, swaps.files_now(entry), lock.holder(lock.tree_lock_path(entry.root)))
        for entry in ledger.unfinished(state, root)
    ]
    return Unfinished(found, _leftovers(state))


def recover(state: StateDir, root: str, operator: str) -> Recoveries:
    """Finish or undo all of it; what one tree's lock or file system forbids stays as it is, with the reason."""
    removed = [path for folder in _folders(state) for path in remove_leftovers(folder)]
    removed += overlay_folders.remove_leftovers(state)
    reached("recover.swept")
    found = [_dealt_with(state, entry, operator) for entry in reversed(ledger.unfinished(state, root))]
    return Recoveries([each for each in found if each], removed)


def _leftovers(state: StateDir) -> List[str]:
    return [*(path for folder in _folders(state) for path in leftovers(folder)), *overlay_folders.leftovers(state)]


def _folders(state: StateDir) -> List[str]:
    """Folders that are written under the writer lock alone."""
    return [state.join("blobs"), state.join("ledger"), *(folder for folder, _, _ in os.walk(state.join("stale")))]


def _dealt_with(state: StateDir, entry: LedgerEntry, operator: str) -> Optional[Recovered]:
    try:
        with _lock(entry.root, operator):
            # Its holder may have finished it while we came for the lock.
            current = ledger.read(state, entry.entry_id)
            if current is None or not current.is_cut_short:
                return None
            return _finished_or_undone(state, current)
    except AgentError as error:
        outcome = "busy" if error.kind == "locked" else "stuck"
        return Recovered(entry, outcome, swaps.files_now(entry), error.message)
    finally:
        reached("recover.entry")


def _lock(root: str, operator: str) -> ContextManager[None]:
    if not os.path.isdir(root):  # the whole tree was removed: nothing can be changed there
        return contextlib.nullcontext()
    return lock.hold(lock.tree_lock_path(root), operator, "files.recover")


def _finished_or_undone(state: StateDir, entry: LedgerEntry) -> Recovered:
    swaps.remove_temporaries(entry)
    why = swaps.why_not(state, entry) if entry.state == "intent" else ""
    if entry.state == "intent" and not why:
        try:
            return Recovered(entry, "finished", swaps.swap_in(state, entry))
        except AgentError as error:
            if ledger.read(state, entry.entry_id) is not None:
                raise
            return Recovered(entry, "undone", swaps.files_now(entry), error.message)
    outcomes = swaps.put_back(state, swaps.mark(state, entry))
    left = any(each.outcome == "drifted" for each in outcomes)
    return Recovered(entry, "left" if left else "undone", outcomes, why)
