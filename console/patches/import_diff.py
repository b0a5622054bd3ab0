"""A unified diff made into new texts, strictly: each hunk fits the file at its own line numbers, to the byte, or none.

There is no fuzz and no offset: a diff made for another release is refused by the name of its first hunk that does not
fit. New files are taken; files deleted, renamed, binary or with another mode are refused. Line ends are those of the
diff, so a CRLF file needs a CRLF diff.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from console.errors import UsageError
from console.patches import source
from console.patches.diff import unified
from console.patches.plan import FilePlan
from console.patches.refusals import Conflict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_BYTES = 4 * 1024 * 1024
"""Input cap of a diff."""

_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
_HUNK = re.compile(rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_PATH = re.compile(r"(?:.*/)?sglang/(srt/[A-Za-z0-9_./-]{1,200}|[A-Za-z0-9_.-]{1,200}\.py)")
_REFUSED = {
    b"Binary files ": "a binary file",
    b"GIT binary patch": "a binary file",
    b"rename from ": "a renamed file",
    b"copy from ": "a copied file",
    b"old mode ": "a changed file mode",
    b"deleted file ": "a deleted file",
}
_SHOWN = 100
"""Characters of a line that are quoted."""
_NO_END = b"\\ No newline at end of file"


@dataclass(slots=True)
class _Hunk:
    """One hunk: `number` is that of its `@@` line in the diff."""

    number: int
    start: int
    new_start: int
    old: list[bytes] = field(default_factory=list)
    new: list[bytes] = field(default_factory=list)


@dataclass(slots=True)
class _Change:
    path: str
    is_new: bool
    hunks: list[_Hunk] = field(default_factory=list)


def plan_diff(diff: bytes, files: Mapping[str, bytes | None]) -> tuple[FilePlan, ...]:
    """Return what the diff makes of each of its files; `files` are the tree's, by path in the `sglang` package.

    A file whose hunks do not fit is `conflict`, one that has them already is `applied`; nothing is taken in part.

    Raises:
        UsageError: not a unified diff of files in an `sglang` package, or one of a kind that is refused.
    """
    return tuple(_plan(change, files.get(change.path)) for change in _read(diff))


def wanted_paths(diff: bytes) -> tuple[str, ...]:
    """Return the paths to read for `plan_diff`, relative to the `sglang` package. Raises UsageError as that does."""
    return tuple(change.path for change in _read(diff))


def _plan(change: _Change, data: bytes | None) -> FilePlan:
    before = None if data is None else _sha(data)
    sites = tuple(f"hunk {index}:{hunk.start}" for index, hunk in enumerate(change.hunks, start=1))
    try:
        new = _created(change, data) if change.is_new else _changed(change, data)
        if new == data:
            return FilePlan(change.path, "applied", "the file has these changes", before, before, None, "", sites)
        if change.path.endswith(".py"):
            source.parse(new, compiled=True)
    except Conflict as conflict:
        if data is not None and _is_done(change, data):
            return FilePlan(change.path, "applied", "the file has these changes", before, before, None, "", sites)
        return FilePlan(change.path, "conflict", conflict.why, before, None, None, "", sites)
    why = "new file" if data is None else f"{len(change.hunks)} hunks fit"
    diff = unified(change.path, data or b"", new, new_file=data is None)
    return FilePlan(change.path, "appliable", why, before, _sha(new), new, diff, sites)


def _created(change: _Change, data: bytes | None) -> bytes:
    new = b"".join(change.hunks[0].new)
    if data not in (None, new):
        raise Conflict("another file of this name is there already")
    return new


def _changed(change: _Change, data: bytes | None) -> bytes:
    if data is None:
        raise Conflict(f"this tree has no {change.path}")
    lines = _LINE.findall(data)
    out: list[bytes] = []
    at = 0
    for index, hunk in enumerate(change.hunks, start=1):
        start = hunk.start - 1 if hunk.old else hunk.start
        name = f"hunk {index} (line {hunk.number} of the diff)"
        if start < at:
            raise Conflict(f"{name} does not come after the one before")
        found = lines[start : start + len(hunk.old)]
        if found != hunk.old:
            raise Conflict(f"{name} does not fit: {_difference(hunk, found, start)}")
        out += [*lines[at:start], *hunk.new]
        at = start + len(hunk.old)
    return b"".join([*out, *lines[at:]])


def _difference(hunk: _Hunk, found: list[bytes], start: int) -> str:
    for offset, old in enumerate(hunk.old):
        if offset >= len(found):
            return f"the file ends before line {start + offset + 1}"
        if found[offset] != old:
            what = "differs in white space" if found[offset].split() == old.split() else "is another"
            return f"line {start + offset + 1} of the file {what}: {_shown(found[offset])}, and not {_shown(old)}"
    return f"line {start + 1} is not there"


def _shown(line: bytes) -> str:
    text = line.rstrip(b"\n").decode("utf-8", "replace")
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def _is_done(change: _Change, data: bytes) -> bool:
    """Say whether undoing the diff fits: then it has been done."""
    undone = _Change(change.path, is_new=False)
    undone.hunks = [_Hunk(hunk.number, hunk.new_start, hunk.start, hunk.new, hunk.old) for hunk in change.hunks]
    try:
        old = _changed(undone, data)
        return old != data and _changed(change, old) == data
    except Conflict:
        return False


def _read(diff: bytes) -> list[_Change]:
    if len(diff) > MAX_BYTES:
        raise UsageError(f"the diff has {len(diff):,} bytes; at most {MAX_BYTES:,} are read")
    lines = _LINE.findall(diff)
    changes = list(_changes(lines))
    if not changes:
        raise UsageError("this is no unified diff: it has no line that begins with '--- '", "Make it by `git diff`.")
    paths = [change.path for change in changes]
    for path in paths:
        if paths.count(path) > 1:
            raise UsageError(f"the diff changes {path} twice")
    return changes


def _changes(lines: list[bytes]) -> Iterator[_Change]:
    at = 0
    while at < len(lines):
        for start, what in _REFUSED.items():
            if lines[at].startswith(start):
                raise UsageError(f"line {at + 1} of the diff is about {what}: only changed and new texts are taken")
        if not lines[at].startswith(b"--- "):
            at += 1
            continue
        if at + 1 >= len(lines) or not lines[at + 1].startswith(b"+++ "):
            raise UsageError(f"line {at + 1} of the diff begins a file, and no '+++ ' line follows")
        old, new = _name(lines[at]), _name(lines[at + 1])
        if new == "/dev/null":
            raise UsageError(f"line {at + 2} of the diff is about a deleted file: only changed and new texts are taken")
        change = _Change(_path(new, at + 2), is_new=old == "/dev/null")
        at = _hunks(lines, at + 2, change)
        yield change


def _hunks(lines: list[bytes], at: int, change: _Change) -> int:
    while at < len(lines) and (match := _HUNK.match(lines[at])):
        counts = [1 if text is None else int(text) for text in (match[2], match[4])]
        hunk = _Hunk(at + 1, int(match[1]), int(match[3]))
        at = _body(lines, at + 1, hunk, counts)
        change.hunks.append(hunk)
    if not change.hunks:
        raise UsageError(f"line {at + 1} of the diff should begin a hunk of {change.path} (@@ -1,2 +1,3 @@)")
    if change.is_new and (len(change.hunks) > 1 or change.hunks[0].old):
        raise UsageError(f"{change.path} is new in the diff, and yet has old lines")
    return at


def _body(lines: list[bytes], at: int, hunk: _Hunk, counts: list[int]) -> int:
    """Read the lines that the counts of the `@@` line promise; return the number of the line behind them."""
    while len(hunk.old) < counts[0] or len(hunk.new) < counts[1]:
        line = lines[at] if at < len(lines) else b""
        sign, rest = line[:1], line[1:]
        if line in (b"\n", b"\r\n"):  # editors strip the blank of an empty context line
            sign, rest = b" ", line
        if sign not in (b" ", b"-", b"+") or not line:
            raise UsageError(f"line {at + 1} of the diff: the hunk at line {hunk.number} is cut off")
        at += 1
        if at < len(lines) and lines[at].startswith(_NO_END):
            rest, at = rest.removesuffix(b"\n"), at + 1
        if sign in (b" ", b"-"):
            hunk.old.append(rest)
        if sign in (b" ", b"+"):
            hunk.new.append(rest)
    if len(hunk.old) != counts[0] or len(hunk.new) != counts[1]:
        raise UsageError(f"the hunk at line {hunk.number} of the diff has other numbers of lines than it says")
    return at


def _name(line: bytes) -> str:
    return line[4:].rstrip(b"\r\n").split(b"\t", 1)[0].decode("utf-8", "replace")


def _path(name: str, number: int) -> str:
    """Return the path in the package of `b/python/sglang/srt/x.py` or `sglang/srt/x.py`."""
    match = _PATH.fullmatch(name)
    if match is None or any(part in ("", ".", "..") for part in match[1].split("/")):
        raise UsageError(f"line {number} of the diff names {name[:200]!r}, which is no file of an `sglang` package")
    return match[1]


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
