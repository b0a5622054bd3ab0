"""What a patch would do to each file of a tree, from the files' bytes alone.

Nothing is written here. A plan holds the whole new text of every file it would change, so that what is shown is what
is written; whoever carries it out swaps a file only while its SHA-256 is `sha256_before`.
"""

from __future__ import annotations

import ast
import functools
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from console.errors import UsageError
from console.patches import anchor, bound, edit, source
from console.patches.diff import unified
from console.patches.refusals import Conflict, NotApplicable, Refusal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from console.patches.edit import Where
    from console.patches.library import FileEdit, Insert, Patch, Role, RuntimeFile

State = Literal["applied", "appliable", "drifted", "conflict", "not-applicable"]


@dataclass(frozen=True, slots=True)
class Found:
    """A place where a line goes."""

    site: str
    anchor: str
    """Its id and what it looks for."""
    where: Where
    owner: str
    """The function, as "<class>.<method>"."""
    line: int
    """Of the anchored statement in the unpatched file."""

    def __str__(self) -> str:
        return f"{self.site} {self.owner}:{self.line}"


@dataclass(frozen=True, slots=True)
class FilePlan:
    """One file: where it stands and what would become of it."""

    path: str
    state: State
    why: str
    """One sentence; for `appliable` and `applied` what is or would be put in."""
    sha256_before: str | None
    """None: the file is not there."""
    sha256_after: str | None
    """Of the text that the patch gives; None where it gives none."""
    new_text: bytes | None
    """What to write; None unless `appliable`."""
    diff: str
    """Unified. `applied`: what the patch changed; `drifted`: from the file to what the patch would have made of it."""
    sites: tuple[str, ...]
    """"<site> <class>.<method>:<line of the anchor in the unpatched file>", in the order of the patch."""
    lazy: bool = False
    """A server may never import it."""
    found: tuple[Found, ...] = ()
    """The same places, with their anchors."""


@dataclass(frozen=True, slots=True)
class PatchPlan:
    """All files of one patch: the runtime file first, since a patched file must never be without it."""

    patch_id: str
    files: tuple[FilePlan, ...]

    @property
    def changes(self) -> tuple[FilePlan, ...]:
        """The files to write, in the order of writing (to take back: in reverse)."""
        return tuple(one for one in self.files if one.state == "appliable")

    @property
    def blockers(self) -> tuple[FilePlan, ...]:
        """The files that stand against applying."""
        return tuple(one for one in self.files if one.state in ("drifted", "conflict"))

    @property
    def state(self) -> State:
        """The whole: the worst state of a file; `applied` when nothing is left to do."""
        states = {one.state for one in self.files}
        order: tuple[State, ...] = ("conflict", "drifted", "appliable", "applied")
        return next((state for state in order if state in states), "not-applicable")


def wanted_paths(
    patch: Patch,
    target: Sequence[str] = (),
    draft: Sequence[str] = (),
    *,
    all_models: bool = False,
) -> tuple[str, ...]:
    """Return the paths to read for a plan, the runtime file first, relative to the root of the `sglang` package.

    `target` and `draft` are the `architectures` of the two configs; raises UsageError for one without a known file.
    """
    chosen = {one.path for one in patch.edits if one.role == "always" or all_models}
    if not all_models:
        chosen |= _paths_for(patch, "target", target) | _paths_for(patch, "draft", draft)
    return (patch.helper.path, *(one.path for one in patch.edits if one.path in chosen))


def plan(patch: Patch, files: Mapping[str, bytes | None]) -> PatchPlan:
    """Return what `patch` would do to `files` (path → bytes, None: not there); the runtime file is always planned."""
    edited = [_plan_file(patch, one, files[one.path]) for one in patch.edits if one.path in files]
    needed = any(one.state != "not-applicable" for one in edited)
    helper = _plan_helper(patch.helper, files.get(patch.helper.path), needed=needed)
    return PatchPlan(patch.id, (helper, *edited))


def strip(patch: Patch, data: bytes) -> bytes:
    """Return `data` without the lines of `patch`, for comparing with an original."""
    return edit.strip(data, patch.mark)


def _paths_for(patch: Patch, role: Role, architectures: Iterable[str]) -> set[str]:
    paths: set[str] = set()
    if all(one.role != role for one in patch.edits):
        return paths  # it looks at no file of a model
    for name in architectures:
        found = {one.path for one in patch.edits if one.role == role and name in one.architectures}
        if not found:
            raise UsageError(
                f"patch {patch.id} knows no model file for the {role} architecture {name!r}",
                hint="--all-models looks at every model file that the patch knows",
            )
        paths |= found
    return paths


def _plan_file(patch: Patch, file: FileEdit, data: bytes | None) -> FilePlan:
    if data is None:
        return _plain(file.path, "not-applicable", f"this tree has no {file.path}", None)
    base = strip(patch, data)
    touched = base != data or f'"{patch.helper.module}"'.encode() in base
    try:
        new, found = _patched(patch, file, base)
    except Refusal as refusal:
        if touched:
            return _plain(file.path, "drifted", f"the file has lines of the patch, but {refusal.why}", data)
        state: State = "not-applicable" if isinstance(refusal, NotApplicable) else "conflict"
        return _plain(file.path, state, refusal.why, data)
    if new == data:
        state, why, old, result = "applied", f"{len(found)} lines are in", base, None
    elif touched:
        why = "the file has lines of the patch, but not those that this version puts in; revert it, then apply again"
        state, old, result = "drifted", data, None
    else:
        state, why, old, result = "appliable", f"{len(found)} lines to put in", data, new
    diff = unified(file.path, old, new)
    sites = tuple(map(str, found))
    return FilePlan(file.path, state, why, _sha(data), _sha(new), result, diff, sites, file.lazy, found)


@functools.lru_cache(maxsize=64)  # a tree is read again to verify it: the same texts, and half a second to parse them
def _patched(patch: Patch, file: FileEdit, base: bytes) -> tuple[bytes, tuple[Found, ...]]:
    text = source.read(base)
    lines, found, missing = [], [], None
    for insert in file.inserts:
        try:
            place = anchor.find(insert.anchor, text.tree)
        except NotApplicable as refusal:
            if not insert.optional:
                raise
            missing = refusal
            continue
        _refuse_unbound(insert, place)
        lines.append(edit.line(text, place.statement, insert.where, patch.code(insert)))
        found.append(Found(insert.site, str(insert.anchor), insert.where, place.owner, place.statement.lineno))
    if missing and not lines:
        raise missing
    new = edit.insert(text, lines)
    edit.check(text, new, lines, patch.mark)
    return new, tuple(found)


def _refuse_unbound(insert: Insert, place: anchor.Place) -> None:
    if insert.where == "decorate":
        return  # reads no name of the file
    call = ast.parse(insert.call, mode="eval").body
    assert isinstance(call, ast.Call)
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    read = {node.id for one in arguments for node in ast.walk(one) if isinstance(node, ast.Name)}
    known = bound.before(place) if insert.where == "before" else bound.after(place)
    unset = sorted(read - known - insert.assumes)
    if unset:
        raise Conflict(f"{', '.join(unset)} may have no value {insert.where} {place} ({insert.anchor.id})")


def _plan_helper(helper: RuntimeFile, data: bytes | None, *, needed: bool) -> FilePlan:
    if data == helper.text:
        return _plain(helper.path, "applied", "what the inserted calls call", data)
    if data is not None and data.startswith(helper.heading):
        why = "the runtime file is there, but not as this version has it; revert it, then apply again"
        return _plain(helper.path, "drifted", why, data)
    if data is not None:
        return _plain(helper.path, "conflict", "another file of this name is there already", data)
    if not needed:
        return _plain(helper.path, "not-applicable", "no file of this tree takes the patch", None)
    why = "new file: what the inserted calls call"
    diff = unified(helper.path, b"", helper.text, new_file=True)
    return FilePlan(helper.path, "appliable", why, None, _sha(helper.text), helper.text, diff, ())


def _plain(path: str, state: State, why: str, data: bytes | None) -> FilePlan:
    """Return the plan of a file that gets no new text."""
    before = None if data is None else _sha(data)
    return FilePlan(path, state, why, before, before if state == "applied" else None, None, "", ())


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
