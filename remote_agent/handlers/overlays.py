"""Overlays: folders for PYTHONPATH with patched copies, written whole, listed with their integrity."""

from __future__ import annotations

import hashlib
import os
import re
from typing import Any, Dict

from remote_agent import overlay_folders
from remote_agent.node import Node
from remote_agent.protocol import AgentError, OverlayInfo, OverlayList
from remote_agent.request import Request, method
from remote_agent.state_dir import read_json

_NAME = re.compile(r"[0-9a-f]{16}")
_PATH = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_.-]*/)*[A-Za-z0-9_][A-Za-z0-9_.-]*")


@method(mutates=True)
def write(node: Node, request: Request) -> OverlayInfo:
    """Write `files` [{path, sha256}] (content was `files.put` before) as the overlay `name`; whole or not at all."""
    files = {_relative(file): str(file.get("sha256")) for file in request.get("files", list)}
    return _info(overlay_folders.place(node.state, _name(request), files))


@method()
def list_(node: Node, request: Request) -> OverlayList:
    names = [name for name in node.state.names("overlays") if _NAME.fullmatch(name)] if node.state_path else []
    return OverlayList([_info(node.state.join("overlays", name)) for name in names])


@method(mutates=True)
def remove(node: Node, request: Request) -> OverlayList:
    """Remove an overlay; a server that runs from it has its modules already."""
    overlay_folders.take_away(node.state, _name(request))
    return list_(node, request)


def _name(request: Request) -> str:
    name = request.get("name", str)
    if not _NAME.fullmatch(name):
        raise AgentError("invalid", f"not an overlay's name: {name[:80]!r}")
    return name


def _relative(file: Any) -> str:
    path = str(file.get("path")) if isinstance(file, dict) else ""
    if not _PATH.fullmatch(path) or ".." in path.split("/"):
        raise AgentError("refused", f"{path[:200]!r} is no path of an overlay")
    return path


def _info(folder: str) -> OverlayInfo:
    manifest: Dict[str, Any] = read_json(os.path.join(folder, "manifest.json")) or {}
    broken = [file["path"] for file in manifest.get("files", []) if not _is_intact(folder, file)]
    return OverlayInfo(os.path.basename(folder), folder, manifest, sorted(broken))


def _is_intact(folder: str, file: Dict[str, Any]) -> bool:
    try:
        with open(os.path.join(folder, "files", file["path"]), "rb") as copy:
            return hashlib.sha256(copy.read()).hexdigest() == file.get("sha256_after")
    except OSError:
        return False
