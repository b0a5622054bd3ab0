"""The overlays' folders: each appears whole and goes whole; half-made ones have names that nobody looks at."""

from __future__ import annotations

import contextlib
import os
import shutil
from typing import Dict, List

from remote_agent.state_dir import StateDir, sync_folder, write_atomic
from remote_agent.steps import reached

HALF_MADE, OUT_OF_THE_WAY = ".part", ".old"


def place(state: StateDir, name: str, files: Dict[str, str]) -> str:
    """Write an overlay of kept contents (path → sha256) under its name; returns its folder."""
    folder = state.make("overlays")
    final = os.path.join(folder, name)
    partial = _hidden(folder, name, HALF_MADE)
    shutil.rmtree(partial, ignore_errors=True)
    for path, sha256 in files.items():
        target = os.path.join(partial, path)
        os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
        write_atomic(target, state.get_blob(sha256))
        reached("overlay.copied")
    old = _move_away(folder, name)
    reached("overlay.cleared")
    os.rename(partial, final)
    sync_folder(folder)
    reached("overlay.placed")
    shutil.rmtree(old, ignore_errors=True)
    return final


def take_away(state: StateDir, name: str) -> None:
    """Remove an overlay, if there is one of that name."""
    folder = state.join("overlays")
    old = _move_away(folder, name)
    reached("overlay.removing")
    shutil.rmtree(old, ignore_errors=True)


def leftovers(state: StateDir) -> List[str]:
    """Folders that a crash left half made or half removed."""
    names = [name for name in state.names("overlays") if name.endswith((HALF_MADE, OUT_OF_THE_WAY))]
    return [state.join("overlays", name) for name in names]


def remove_leftovers(state: StateDir) -> List[str]:
    """Remove them; the caller holds the writer lock."""
    removed = leftovers(state)
    for path in removed:
        shutil.rmtree(path, ignore_errors=True)
    return removed


def _move_away(folder: str, name: str) -> str:
    old = _hidden(folder, name, OUT_OF_THE_WAY)
    shutil.rmtree(old, ignore_errors=True)
    with contextlib.suppress(FileNotFoundError):
        os.rename(os.path.join(folder, name), old)
    return old


def _hidden(folder: str, name: str, ending: str) -> str:
    return os.path.join(folder, f".{name}{ending}")
