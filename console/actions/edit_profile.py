"""Editing a profile: on a draft, checked before it takes the file's place. What was typed is never lost.

A draft lies in the console's state (`drafts/NAME.yaml`) until it is saved or discarded; the next edit takes it up.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from console import new_file, yaml_file
from console.errors import Refused, UsageError
from console.launch import layers
from console.launch.library import Found, Library
from console.launch.loader import Inputs, ResolvedProfile, resolve
from console.patches import folders

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.paths import Paths

_BASE = ".base.json"


@dataclass(frozen=True, slots=True)
class Draft:
    """A profile that is being edited."""

    name: str
    path: Path
    """What the editor gets."""
    target: Path
    """Where it goes when it is saved: the profile's own file, or the user's copy of one that ships."""
    base: str
    """The text of the profile when the edit began."""
    expected: str | None
    """What stands at `target` then; None: nothing."""
    notes: tuple[str, ...] = ()
    """What the user should know before editing."""
    is_old: bool = False
    """It was kept by an earlier edit."""

    @property
    def text(self) -> str | None:
        """What it is now; None when it is no text, or gone."""
        return _read(self.path)

    @property
    def is_changed(self) -> bool:
        return self.text != self.base


@dataclass(frozen=True, slots=True)
class _With:
    """The profiles, and one that is not in its place yet."""

    library: Library
    found: Found

    def read(self, name: str, beside: str = "") -> Found:
        return self.found if name == self.found.name else self.library.read(name, beside)


def begin(name: str, here: Paths) -> Draft:
    """Make a draft of the profile `name` (or at that path), or take up the one that was kept.

    Raises:
        UsageError: there is no such profile, or it is not text.
        Refused: a draft of another file with this name is kept.
    """
    source = Library(here.profiles).path(name)
    base = _read(source)
    if base is None:
        raise UsageError(f"{source} cannot be read as text")
    target = _target(source, here)
    path = here.state / "drafts" / f"{source.stem}.yaml"
    is_old = path.exists() and _read(path) != base
    notes = [] if target == source else [f"{source} ships with the console: your copy goes to {target}"]
    if is_old:
        notes += _taken_up(path, target, base)
    else:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _replace(path, base, 0o600)
    _replace(path.with_suffix(_BASE), json.dumps({"target": str(target), "base": base}), 0o600)
    return Draft(source.stem, path, target, base, _read(target), tuple(notes), is_old)


def check(draft: Draft, here: Paths) -> ResolvedProfile:
    """Resolve what the draft says. Raises UsageError, Invalid: with file (the draft), line and column."""
    return _resolved(Found(draft.name, str(draft.target), yaml_file.load_file(draft.path)), here)


def set_values(name: str, sets: Sequence[str], here: Paths) -> Draft:
    """Write `KEY=VALUE` of each into a profile's text, comments and order staying; return the draft, to be saved.

    Raises:
        UsageError, Invalid: the result is not valid; no draft is left.
        Refused: a draft of this profile is kept.
    """
    draft = begin(name, here)
    if draft.is_old:
        raise Refused(f"a draft is kept in {draft.path}", f"Save or discard it first: `profiles edit {name}`.")
    try:
        text = draft.base
        for override in map(layers.parse_set, sets):
            text = yaml_file.set_value(text, tuple(map(str, override.path)), override.value, str(draft.path))
        _replace(draft.path, text, 0o600)
        check(draft, here)
    except BaseException:
        discard(draft)
        raise
    return draft


def save(draft: Draft) -> None:
    """Put the draft in the profile's place. Raises Refused when that was changed meanwhile; the draft stays then."""
    text = draft.text
    if text is None:
        raise UsageError(f"{draft.path} is no text any more", "Nothing was saved.")
    if _read(draft.target) != draft.expected:
        raise Refused(
            f"{draft.target} was changed while you edited; your text is kept in {draft.path}",
            f"Look at both (diff {draft.target} {draft.path}), then `profiles edit {draft.name}` again.",
        )
    try:
        draft.target.parent.mkdir(parents=True, exist_ok=True)
        _replace(draft.target, text, draft.target.stat().st_mode & 0o777 if draft.target.exists() else 0o644)
    except OSError as error:
        raise Refused(
            f"{draft.target} cannot be written: {error.strerror}; your text is kept in {draft.path}"
        ) from None
    discard(draft)


def discard(draft: Draft) -> None:
    """Take the draft away: it was saved, nothing was changed, or the user said so."""
    for path in (draft.path, draft.path.with_suffix(_BASE)):
        path.unlink(missing_ok=True)


def copy_of(name: str, new: str, here: Paths) -> tuple[Path, str]:
    """Return the file and the text of a profile's copy under a new name in the user's folder; nothing is written.

    Raises:
        UsageError: there is no such profile, or the name cannot be one's.
        Refused: a profile is called so already, or something else is in the file's place.
    """
    library = Library(here.profiles)
    text = library.path(name).read_text(encoding="utf-8")
    if new in library.names():
        raise Refused(f"{new} is there already: {library.path(new)}", "Choose another name.")
    path = here.config / "profiles" / f"{new}.yaml"
    located = yaml_file.load(text, str(path))
    if isinstance(located.data, dict) and "name" in located.data:
        text = yaml_file.set_value(text, ("name",), new, str(path))
    _resolved(Found(new, str(path), yaml_file.load(text, str(path))), here)
    new_file.require_free(path)
    return path, text


def _resolved(found: Found, here: Paths) -> ResolvedProfile:
    known = folders.read(here.patches).options()
    return resolve(found.name, _With(Library(here.profiles), found), Inputs(patch_options=known))


def _target(source: Path, here: Paths) -> Path:
    """A profile in a folder that the user's own comes before is copied there; others are edited where they are."""
    own = here.config / "profiles"
    order = [str(folder) for folder in here.profiles]
    mine = str(own.resolve())
    if str(source.parent) in order and mine in order and order.index(str(source.parent)) > order.index(mine):
        return own / source.name
    return source.resolve()


def _taken_up(path: Path, target: Path, base: str) -> list[str]:
    known: dict[str, Any] = {}
    with contextlib.suppress(OSError, ValueError):
        known = json.loads(path.with_suffix(_BASE).read_text(encoding="utf-8"))
    if known.get("target", str(target)) != str(target):
        raise Refused(
            f"a draft of {known['target']} is kept in {path}", f"Save or discard it: `profiles edit {known['target']}`."
        )
    notes = [f"the draft that was kept is taken up: {path}"]
    if known.get("base", base) != base:
        notes.append(f"the profile was changed since that draft was begun: saving writes over that; compare {target}")
    return notes


def _replace(path: Path, text: str, mode: int) -> None:
    """Atomically: a reader sees the old text or the new one."""
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(mode)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
