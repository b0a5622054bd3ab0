"""The copy of the stand-in `sglang` that patches may change: made, kept when changed, refreshed when not."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from pathlib import Path

Hashes: TypeAlias = dict[str, str]
"""Path below the tree, with slashes, to SHA-256."""

_MANIFEST = "site.json"


def refresh(shipped: Path, home: Path) -> bool:
    """Bring `home/site/sglang` to the shipped stand-in; False when that would lose changes and was not done."""
    tree = home / "site" / "sglang"
    wanted = hashes(shipped)
    laid = _laid_down(home)
    if tree.is_dir():
        if laid == wanted:
            _restore_missing(shipped, tree, wanted)
            return True
        if laid is not None and hashes(tree) != laid:
            return False
    _copy(shipped, tree)
    _record(home, wanted)
    return True


def hashes(tree: Path) -> Hashes:
    """Every file of the tree but bytecode."""
    return {
        path.relative_to(tree).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(tree.rglob("*"))
        if path.is_file() and path.suffix != ".pyc"
    }


def _restore_missing(shipped: Path, tree: Path, wanted: Hashes) -> None:
    for name in wanted:
        if not (tree / name).exists():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(shipped / name, tree / name)


def _laid_down(home: Path) -> Hashes | None:
    """What was last copied; None when nothing was, or the note is unreadable."""
    try:
        told = json.loads((home / _MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return told if isinstance(told, dict) else None


def _record(home: Path, files: Hashes) -> None:
    temporary = home / f".{_MANIFEST}.{os.getpid()}"
    temporary.write_text(json.dumps(files, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    temporary.replace(home / _MANIFEST)


def _copy(shipped: Path, tree: Path) -> None:
    """Copy beside, then rename: a half copy is never seen under the tree's name."""
    tree.parent.mkdir(parents=True, exist_ok=True)
    beside = tree.with_name(f".{tree.name}.{os.getpid()}")
    shutil.rmtree(beside, ignore_errors=True)
    shutil.copytree(shipped, beside, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    if tree.is_dir():
        old = tree.with_name(f".{tree.name}.old.{os.getpid()}")
        tree.replace(old)
        shutil.rmtree(old, ignore_errors=True)
    beside.replace(tree)
