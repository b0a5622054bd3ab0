"""What we left on this node, and taking away what nothing needs any more."""

from __future__ import annotations

import os
import shutil
import time
from typing import Dict, List, Set

from remote_agent import processes, runs, server_flags
from remote_agent.node import Node
from remote_agent.protocol import Footprint, LedgerEntry, ProtocolError, StoredItem, Swept, SweptList, from_wire
from remote_agent.request import Request, method
from remote_agent.state_dir import read_json


@method()
def list_(node: Node, request: Request) -> Footprint:
    cache = os.path.dirname(node.agent_path) if node.agent_path else ""
    items = _zips(cache, node.agent_path or "") + _runs(node) + _overlays(node) + _blobs(node)
    items += _flags(node) + _stale(node) + _pairs(node)
    return Footprint(node.state.path, cache, items)


@method(mutates=True)
def collect(node: Node, request: Request) -> SweptList:
    """Remove the items of `paths` that are ours and that nothing uses, each checked again now."""
    wanted = {str(path) for path in request.get("paths", list)}
    known = {item.path: item for item in list_(node, request).items}
    return SweptList([_remove(path, known) for path in sorted(wanted)])


def _remove(path: str, known: Dict[str, StoredItem]) -> Swept:
    item = known.get(path)
    if item is None:
        return Swept(path, "denied", "it is none of ours")
    if item.in_use:
        return Swept(path, "held", item.in_use)
    try:
        shutil.rmtree(path) if item.kind in ("run", "overlay", "stale", "pair") else os.unlink(path)
    except OSError as error:
        return Swept(path, "denied", error.strerror or str(error))
    return Swept(path, "removed")


def _zips(cache: str, own: str) -> List[StoredItem]:
    if not os.path.isdir(cache):
        return []
    paths = [os.path.join(cache, name) for name in sorted(os.listdir(cache)) if name.startswith("agent-")]
    users = _users(set(paths))
    found = []
    for path in paths:
        why = "this agent runs from it" if path == own else users.get(path, "")
        found.append(_item("zip", path, os.path.getsize(path), why))
    return found


def _users(paths: Set[str]) -> Dict[str, str]:
    """Agents and supervisors of ours that run from these zips."""
    found: Dict[str, str] = {}
    for pid in processes.pids():
        info = processes.info(pid) if pid != os.getpid() else None
        for word in info.argv if info else []:
            if word in paths:
                found[word] = f"pid {pid} runs from it"
    return found


def _runs(node: Node) -> List[StoredItem]:
    found = []
    for name in node.state.names("runs"):
        path = node.state.join("runs", name)
        record = read_json(os.path.join(path, "run.json")) or {}
        state = runs.RunState(path)
        alive = state.name in ("running", "starting") or bool(state.members())
        why = f"{record.get('kind', 'run')} is {state.name}" if alive else ""
        found.append(_item("run", path, _size(path), why, f"{record.get('kind', '?')} {state.name}"))
    return found


def _overlays(node: Node) -> List[StoredItem]:
    users: Dict[str, str] = {}
    for run_id in node.state.names("runs"):
        path = node.state.join("runs", run_id)
        name = ((read_json(os.path.join(path, "run.json")) or {}).get("record") or {}).get("overlay")
        # A rank that starts anew reads it again, so a server needs it as long as it lives.
        if name and runs.RunState(path).members():
            users[str(name)] = f"server {run_id} runs from it"
    found = []
    for name in node.state.names("overlays"):
        path = node.state.join("overlays", name)
        manifest = read_json(os.path.join(path, "manifest.json")) or {}
        detail = ", ".join(str(each) for each in manifest.get("patches") or [])
        found.append(_item("overlay", path, _size(path), users.get(name, ""), detail))
    return found


def _flags(node: Node) -> List[StoredItem]:
    paths = [node.state.join(server_flags.FOLDER, name) for name in node.state.names(server_flags.FOLDER)]
    return [_item("flags", path, os.path.getsize(path), "", "of an installed SGLang") for path in paths]


def _blobs(node: Node) -> List[StoredItem]:
    needed: Set[str] = set()
    for name in node.state.names("ledger"):
        try:
            entry = from_wire(LedgerEntry, read_json(node.state.join("ledger", name)))
        except ProtocolError:
            continue
        needed.update(file.sha256_before or "" for file in entry.files)
        needed.update(file.sha256_after for file in entry.files)
    found = []
    for name in node.state.names("blobs"):
        path = node.state.join("blobs", name)
        why = "the original or new text of a patched file" if name in needed else ""
        found.append(_item("blob", path, os.path.getsize(path), why))
    return found


def _stale(node: Node) -> List[StoredItem]:
    """Originals of patched files that were replaced since (`ledger.keep_aside`)."""
    paths = [node.state.join("stale", name) for name in node.state.names("stale")]
    return [_item("stale", path, _size(path), "", "originals of files that were replaced since") for path in paths]


def _pairs(node: Node) -> List[StoredItem]:
    """Checkpoints for calibration; a server may still be reading one's weights."""
    live = [runs.RunState(path) for path, _record in runs.each(node, "server")]
    why = "a server runs" if any(state.members() for state in live) else ""
    paths = [node.state.join("pairs", name) for name in node.state.names("pairs")]
    return [_item("pair", path, _size(path), why, "for calibration") for path in paths]


def _item(kind: str, path: str, size: int, why: str, detail: str = "") -> StoredItem:
    age = max(0.0, time.time() - os.path.getmtime(path))
    return StoredItem(kind, os.path.basename(path), path, size, round(age, 1), why, detail or None)


def _size(folder: str) -> int:
    paths = (os.path.join(base, name) for base, _folders, names in os.walk(folder) for name in names)
    return sum(os.lstat(path).st_size for path in paths)
