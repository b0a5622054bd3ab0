"""Finds and reads a user's own patches; the only module of this room that touches the user's disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console import yaml_file
from console.errors import UsageError
from console.patches import library
from console.patches.known import KnownPatches
from console.patches.source import MAX_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from console.patches.library import Patch


def read(folder: Path) -> KnownPatches:
    """Return the catalog and the patches in `folder`, one a sub-folder; a missing folder has none."""
    patches: dict[str, Patch] = dict(library.patches())
    own: dict[str, str] = {}
    broken: dict[str, UsageError] = {}
    for each in sorted(folder.iterdir()) if folder.is_dir() else ():
        if each.name.startswith((".", "_")) or not each.is_dir():
            continue
        try:
            patches[each.name] = _patch(each, patches)
            own[each.name] = str(each)
        except UsageError as error:
            broken[each.name] = error
    return KnownPatches(patches, own, broken)


def _patch(folder: Path, taken: Mapping[str, Patch]) -> Patch:
    from console.patches import user  # pydantic, which a user without patches need not wait for
    from console.validation import Invalid, Problem

    form = yaml_file.load_file(folder / user.FORM_FILE)
    patch = user.load(form, _runtime(folder / user.RUNTIME_FILE), taken)
    if patch.id != folder.name:
        at: tuple[str, ...] = ("id",)
        why = f"the folder is called {folder.name!r}, and a patch is found by its folder's name"
        raise Invalid(form.source, [Problem(at, form.where(at), why)])
    return patch


def _runtime(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    if len(data) > MAX_BYTES:
        raise UsageError(f"{path}: larger than {MAX_BYTES:,} bytes")
    return data
