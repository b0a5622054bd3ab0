"""Build an overlay from planned patches: copies beside a small import hook, and what it may be served for."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

from console.patches.chain import changes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from console.patches.plan import FilePlan, PatchPlan

HOOK = "sitecustomize.py"
MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class Overlay:
    """A folder for PYTHONPATH, not yet written: `files` by path relative to it. Its name is the hash of its content."""

    name: str
    files: Mapping[str, bytes]
    changed: tuple[FilePlan, ...]


def build(root: str, plans: Sequence[PatchPlan]) -> Overlay:
    """Build the overlay of everything that `plans` would change in the tree at `root`."""
    changed = changes(plans)
    manifest = {
        "root": root,
        "patches": [plan.patch_id for plan in plans],
        "files": [
            {
                "path": file.path,
                "sha256_before": file.sha256_before,
                "sha256_after": file.sha256_after,
                "lazy": file.lazy,
            }
            for file in changed
        ],
    }
    files = {f"files/{file.path}": file.new_text or b"" for file in changed}
    files[MANIFEST] = json.dumps(manifest, indent=1, sort_keys=True).encode()
    files[HOOK] = resources.files("console.patches.runtime").joinpath("overlay.py").read_bytes()
    digest = hashlib.sha256()
    for path, data in sorted(files.items()):
        digest.update(f"{path} {hashlib.sha256(data).hexdigest()}\n".encode())
    return Overlay(digest.hexdigest()[:16], files, changed)


def serves(manifest: Mapping[str, Any], root: str, plans: Sequence[PatchPlan]) -> bool:
    """Does this overlay give what `plans` would change: in this tree, every file, each from the text that is there now?

    One of more patches does too: each of them sleeps until its variable is set. One of just these must give the very
    text that was planned, so that an older console's is not taken for today's.
    """
    wanted, held = {plan.patch_id for plan in plans}, set(manifest.get("patches") or [])
    files = {file["path"]: file for file in manifest.get("files") or []}
    changed = changes(plans)
    return (
        manifest.get("root") == root
        and wanted <= held
        and bool(changed)
        and all(each.path in files for each in changed)
        and all(files[each.path]["sha256_before"] == each.sha256_before for each in changed)
        and (wanted < held or all(files[each.path]["sha256_after"] == each.sha256_after for each in changed))
    )
