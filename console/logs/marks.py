"""Places in a log that one wants to go to: errors, warnings, changes of shape, slow-downs, and lines nobody knows."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections import deque
from statistics import median
from typing import TYPE_CHECKING, Literal

from console.logs.record import UNCLAIMED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from console.logs.history import LogHistory
    from console.logs.record import Record

MarkKind = Literal["error", "warning", "shape", "slow", "unclaimed"]
KINDS: tuple[MarkKind, ...] = ("error", "warning", "shape", "slow", "unclaimed")
LIMIT = 100_000
"""Places kept of one kind, the newest."""
TROUBLE = frozenset({"failure", "torch_error", "traceback", "argparse_error"})
"""Kinds of records that tell of an error."""
_PLAIN = frozenset({"tensor_shape", "decode_batch", "prefill_batch", "access_log", "eagle3_cycle", "eagle3_digest"})
"""Kinds that come by the thousand and never warn."""
_WARNS = re.compile(r"\bWARN(?:ING)?\b|\b\w{0,40}Warning:")
_ERRS = re.compile(r"\bERROR\b|\bFATAL\b|\bCRITICAL\b")
SLOW = 0.7
"""A window is a slow-down below so much of the median of those before it: windows of one load vary by some per cent."""
BEFORE = 8
ENOUGH = 4


class Marks:
    """Byte offsets by kind, each ascending."""

    def __init__(self) -> None:
        self._offsets: dict[MarkKind, array[int]] = {kind: array("Q") for kind in KINDS}

    def __getitem__(self, kind: MarkKind) -> array[int]:
        return self._offsets[kind]

    def add(self, fresh: Mapping[MarkKind, Iterable[int]]) -> None:
        """Take in places behind all that there are."""
        for kind, offsets in fresh.items():
            mine = self._offsets[kind]
            mine.extend(offsets)
            if len(mine) > LIMIT:
                del mine[: len(mine) - LIMIT]

    def clear(self) -> None:
        """Forget all: the file is another one."""
        for offsets in self._offsets.values():
            del offsets[:]

    def has(self, kind: MarkKind, offset: int) -> bool:
        """Say whether a line is a place of that kind."""
        at = bisect_left(self._offsets[kind], offset)
        return at < len(self._offsets[kind]) and self._offsets[kind][at] == offset

    def next(self, kind: MarkKind, offset: int, *, backward: bool = False) -> int | None:
        """Return the nearest place of a kind behind `offset` (before it, when `backward`), None when there is none."""
        offsets = self._offsets[kind]
        at = bisect_left(offsets, offset) - 1 if backward else bisect_right(offsets, offset)
        return offsets[at] if 0 <= at < len(offsets) else None


class MarkFold:
    """Finds the places in what a history takes in."""

    def __init__(self) -> None:
        self._in_trouble = False
        self._changes = 0
        self._window_at = -1
        self._shape_at = -1
        self._running: int | None = None
        self._before: deque[float] = deque(maxlen=BEFORE)

    def fold(self, history: LogHistory, records: Iterable[Record]) -> dict[MarkKind, list[int]]:
        """Return the places in `records`, which `history` has just taken in."""
        found: dict[MarkKind, list[int]] = {}
        for record in records:
            if record.kind in _PLAIN:
                self._in_trouble = False
            elif kind := self._kind(record):
                found.setdefault(kind, []).append(record.offset)
            if record.kind == UNCLAIMED:
                found.setdefault("unclaimed", []).append(record.offset)
        if shapes := self._shapes(history):
            found["shape"] = shapes
        if slow := list(self._slow(history)):
            found["slow"] = slow
        return found

    def begin_anew(self) -> None:
        """Offsets begin at 0 again."""
        self._window_at = self._shape_at = -1

    def _kind(self, record: Record) -> MarkKind | None:
        """A traceback or a row of errors is one place: its first line."""
        is_trouble = record.kind in TROUBLE
        is_first = is_trouble and not self._in_trouble
        self._in_trouble = is_trouble
        if is_first or (not is_trouble and _ERRS.search(record.text, 0, 400)):
            return "error"
        if not is_trouble and (record.kind == "advice" or _WARNS.search(record.text, 0, 400)):
            return "warning"
        return None

    def _shapes(self, history: LogHistory) -> list[int]:
        if history.shapes.changes == self._changes:
            return []
        self._changes = history.shapes.changes
        changed = sorted({row.changed_offset for row in history.shapes.rows() if row.changed_offset > self._shape_at})
        if changed:
            self._shape_at = changed[-1]
        return changed

    def _slow(self, history: LogHistory) -> Iterable[int]:
        fresh = []
        for window in reversed(history.stats.windows):
            if window.offset <= self._window_at:
                break
            fresh.append(window)
        for window in reversed(fresh):
            self._window_at = window.offset
            if window.includes_idle or window.gen_throughput is None:
                continue
            if window.running_req != self._running:
                self._before.clear()
                self._running = window.running_req
            if len(self._before) >= ENOUGH and window.gen_throughput < SLOW * median(self._before):
                yield window.offset
            self._before.append(window.gen_throughput)
