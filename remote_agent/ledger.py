"""The ledger: what was changed in trees and is not taken back yet. One JSON file an application.

It is on the disk when `write` returns. An entry's state:
intent     begun: each file is its original or its new text
applied    done
reverting  the way back was begun: each file is its original or its new text
drifted    taken back but for these files, which someone changed on top
"""

from __future__ import annotations

import os
from typing import List, Optional

from remote_agent import tree
from remote_agent.protocol import LedgerEntry, LedgerFile, ProtocolError, from_wire, to_wire
from remote_agent.state_dir import StateDir, read_json, sync_folder, write_atomic, write_json


def entries(state: StateDir, root: str = "") -> List[LedgerEntry]:
    """All entries, oldest first; of one tree when `root` is given, behind links or not."""
    root = os.path.realpath(root) if root else ""
    found = [read(state, name[: -len(".json")]) for name in state.names("ledger") if name.endswith(".json")]
    kept = [entry for entry in found if entry and (not root or entry.root == root)]
    return sorted(kept, key=lambda entry: (entry.at, entry.entry_id))


def unfinished(state: StateDir, root: str = "") -> List[LedgerEntry]:
    """Entries whose change was begun and is not finished, oldest first."""
    return [entry for entry in entries(state, root) if entry.is_cut_short]


def read(state: StateDir, entry_id: str) -> Optional[LedgerEntry]:
    """None when there is no such entry, or it is none that can be read."""
    try:
        return from_wire(LedgerEntry, read_json(_path(state, entry_id)))
    except ProtocolError:
        return None


def write(state: StateDir, entry: LedgerEntry) -> None:
    path = _path(state, entry.entry_id)
    with tree.errors_of(path):
        state.make("ledger")
        write_json(path, to_wire(entry))


def close(state: StateDir, entry: LedgerEntry) -> None:
    path = _path(state, entry.entry_id)
    with tree.errors_of(path):
        os.unlink(path)
    sync_folder(state.join("ledger"))


def keep_aside(state: StateDir, entry: LedgerEntry, file: LedgerFile) -> str:
    """Copy the original of a file that was replaced since to `stale/`; returns the copy's path. Raises AgentError."""
    assert file.sha256_before is not None
    original = state.get_blob(file.sha256_before)
    path = state.join("stale", entry.entry_id, file.path)
    with tree.errors_of(path):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        write_atomic(path, original)
    return path


def _path(state: StateDir, entry_id: str) -> str:
    return state.join("ledger", entry_id + ".json")
