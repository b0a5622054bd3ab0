"""A patch tried on the files of a released tree: what it finds, and whether what it puts in holds and comes off."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from console.patches import source
from console.patches.plan import plan, strip
from console.patches.refusals import Conflict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from console.patches.library import Patch
    from console.patches.plan import FilePlan

OLDEST = (3, 8)
NEWEST = (3, 14)


@dataclass(frozen=True, slots=True)
class FileTrial:
    """One file of one release."""

    file: FilePlan
    faults: tuple[str, ...] = ()
    """What is wrong with the text that the patch gives; empty too where it gives none."""
    python: str = ""
    """The oldest grammar that reads both the original and the patched text; empty: the file gets no new text."""

    @property
    def is_right(self) -> bool:
        """No conflict, and a new text without a fault."""
        return self.file.state in ("appliable", "not-applicable") and not self.faults


def trial(patch: Patch, files: Mapping[str, bytes | None]) -> tuple[FileTrial, ...]:
    """Try `patch` on `files` (path → bytes, None: not there), the runtime file first."""
    planned = plan(patch, files)
    after = {**files, **{file.path: file.new_text for file in planned.changes}}
    again = {file.path: file.state for file in plan(patch, after).files}
    return tuple(_tried(patch, file, files.get(file.path), again[file.path]) for file in planned.files)


def _tried(patch: Patch, file: FilePlan, old: bytes | None, again: str) -> FileTrial:
    if file.new_text is None:
        return FileTrial(file)
    python = _oldest(old or file.new_text)
    return FileTrial(file, tuple(_faults(patch, file.new_text, old, python, again)), ".".join(map(str, python)))


def _faults(patch: Patch, new: bytes, old: bytes | None, python: tuple[int, int], again: str) -> Iterator[str]:
    try:
        source.parse(new, compiled=True)
    except Conflict as conflict:
        yield f"it does not compile: {conflict.why}"
    if old is None and python != OLDEST:
        yield "the runtime file needs a newer Python than 3.8"
    if old is not None and not _parses(new, python):
        yield f"Python {python[0]}.{python[1]} reads the original, and not the patched file"
    if old is not None and strip(patch, new) != old:
        yield "it does not come off to the byte"
    if old is not None and not _only_adds(old, new):
        yield "it changes or removes a line"
    if again != "applied":
        yield f"planned again it is {again}"


def _oldest(text: bytes) -> tuple[int, int]:
    return next((each for each in _grammars() if _parses(text, each)), NEWEST)


def _grammars() -> Iterator[tuple[int, int]]:
    return ((3, minor) for minor in range(OLDEST[1], NEWEST[1]))


def _parses(text: bytes, python: tuple[int, int]) -> bool:
    try:
        ast.parse(text, feature_version=python)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _only_adds(old: bytes, new: bytes) -> bool:
    """Are the lines of `old` those of `new` in their order, with others between them?"""
    lines = iter(new.splitlines())
    return all(line in lines for line in old.splitlines())
