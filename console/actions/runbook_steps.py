"""Which steps a runbook has, and in which order: the profile's own, or those of a file; some skipped, some put in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from console.errors import UsageError
from console.validation import nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.launch.profile import Profile

KINDS = ("free", "patch", "baseline", "launch", "probe", "shapes", "compare", "stop", "revert")
"""What a step can do. The last two are in no profile's own runbook: they are put in."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One step: `id` is its kind, with a number behind it from the second of that kind on (`probe-2`)."""

    id: str
    kind: str
    is_skipped: bool = False


def own_kinds(profile: Profile) -> tuple[str, ...]:
    """Return the whole loop, as far as this profile has a part in it."""
    has = {"patch": bool(profile.patch_ids), "baseline": profile.baseline is not None}
    has["compare"] = has["baseline"]
    return tuple(kind for kind in KINDS[:-2] if has.get(kind, True))


def arrange(kinds: Sequence[str], skip: Sequence[str] = (), insert: Sequence[str] = ()) -> tuple[Entry, ...]:
    """Put steps in (`KIND` at the end, `KIND:STEP` before that step) and mark those to skip. Raises UsageError."""
    entries = _numbered(kinds)
    for each in insert:
        kind, colon, before = each.partition(":")
        _known("a runbook has no step", kind, KINDS)
        at = _known("there is no step", before, [entry.id for entry in entries]) if colon else len(entries)
        taken = {entry.id for entry in entries}
        entries.insert(at, Entry(_free_id(kind, taken), kind))
    for each in skip:
        at = _known("there is no step", each, [entry.id for entry in entries])
        entries[at] = Entry(each, entries[at].kind, is_skipped=True)
    if all(entry.is_skipped for entry in entries):
        raise UsageError("every step is skipped", "Leave one.")
    return tuple(entries)


def check(profile: Profile, kinds: Sequence[str]) -> None:
    """Refuse steps that this profile cannot have. Raises UsageError."""
    if "patch" in kinds and not profile.patch_ids:
        raise UsageError(f"profile {profile.name} asks for no patch", "Give it `patches:`, or leave `patch` out.")
    if {"baseline", "compare"} & set(kinds) and profile.baseline is None:
        raise UsageError(
            f"profile {profile.name} names no baseline", "Give it `baseline:`, or leave `baseline` and `compare` out."
        )


def _numbered(kinds: Sequence[str]) -> list[Entry]:
    entries: list[Entry] = []
    for kind in kinds:
        _known("a runbook has no step", kind, KINDS)
        entries.append(Entry(_free_id(kind, {entry.id for entry in entries}), kind))
    return entries


def _free_id(kind: str, taken: set[str]) -> str:
    number = 1
    while (name := kind if number == 1 else f"{kind}-{number}") in taken:
        number += 1
    return name


def _known(complaint: str, word: str, words: Sequence[str]) -> int:
    if word not in words:
        near = nearest(word, words)
        raise UsageError(f"{complaint} {word!r}", f"Nearest: {near}." if near else f"Steps: {', '.join(words)}.")
    return words.index(word)
