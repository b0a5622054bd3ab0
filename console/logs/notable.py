"""The records that explain a log: the first and the last of each kind that never comes by the thousand, in order.

It stays small however long the log: a file of gigabytes, or thousands of lines of teardown, pushes the cause out never.
"""

from __future__ import annotations

from collections import deque
from itertools import chain
from typing import TYPE_CHECKING

from console.logs.parsers.traceback import exception_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from console.logs.record import Record

FIRST_LIMIT = 64
LAST_LIMIT = 32
"""Records kept of one kind: so many from the start of the launch, so many of the newest."""
TEXT_LIMIT = 2000
"""Characters kept of each."""
FRAMES_LIMIT = 48
"""Frames kept of one traceback, the innermost."""
RANKS_LIMIT = 4096

_KINDS = frozenset(
    {
        *("advice", "argparse_error", "failure", "glog", "graph_capture", "kernel_build", "load_weight", "notice"),
        *("overlay", "pool", "ready", "server_args", "torch_error", "traceback", "uvicorn"),
    }
)
_ENDS_A_LIFE = frozenset({"decode_batch", "prefill_batch", "access_log", "failure", "torch_error", "glog"})
"""Kinds that belong to the launch before, when a new one begins in the same file: its own remarks come after these."""
KINDS = _KINDS | _ENDS_A_LIFE
_MAY_THROW = frozenset({"failure", "torch_error", "traceback"})


class Notable:
    """Folds the records of a log."""

    def __init__(self) -> None:
        self.ranks: set[int] = set()
        """Ranks that spoke."""
        self.launches = 0
        """How often a server began in this file; what is kept is of the last one."""
        self._first: dict[str, list[tuple[int, Record]]] = {}
        self._last: dict[str, deque[tuple[int, Record]]] = {}
        self._frames: deque[str] = deque(maxlen=FRAMES_LIMIT)
        self._frames_at: dict[int, tuple[str, ...]] = {}
        self._count = 0
        self._life_ended_at = 0

    def fold(self, record: Record) -> None:
        """Take in a record of KINDS."""
        self._count += 1
        if record.kind in _ENDS_A_LIFE:
            self._life_ended_at = self._count
        if record.kind not in _KINDS:
            return
        if record.kind in _MAY_THROW and not self._throws(record):
            return
        if record.fields.get("part") != "usage":
            self._keep(record)

    def hear(self, ranks: Mapping[str, int]) -> None:
        """Take in the ranks of a record of any kind."""
        rank = ranks.get("TP")
        if rank is not None and rank < RANKS_LIMIT:
            self.ranks.add(rank)

    def begin_launch(self, *, anew: bool) -> None:
        """A server begins; `anew`: after another one in the same file, whose records are forgotten."""
        self.launches += 1
        if not anew:
            return
        for kind, first in self._first.items():
            self._first[kind] = [pair for pair in (*first, *self._last[kind]) if pair[0] > self._life_ended_at]
            self._last[kind].clear()
        self._frames_at.clear()
        self.ranks.clear()

    def records(self) -> tuple[Record, ...]:
        """What is kept, in the order of the log."""
        kept = chain(chain.from_iterable(self._first.values()), chain.from_iterable(self._last.values()))
        return tuple(record for _, record in sorted(kept, key=lambda pair: pair[0]))

    def frames(self, offset: int) -> tuple[str, ...]:
        """`path:line` of the traceback above the exception at `offset`, outermost first; empty where none is kept."""
        return self._frames_at.get(offset, ())

    def _throws(self, record: Record) -> bool:
        """Follow tracebacks; False for their lines that are not worth keeping."""
        part = record.fields.get("part")
        if part == "start" or record.fields.get("cause") == "exception":
            self._frames.clear()
        elif part == "frame":
            self._frames.append(f"{record.fields['path']}:{record.fields['line']}")
        elif part == "exception" or exception_line(str(record.fields.get("sentence", ""))):
            if self._frames and len(self._frames_at) < FIRST_LIMIT:
                self._frames_at.setdefault(record.offset, tuple(self._frames))
        return part in {None, "exception"}

    def _keep(self, record: Record) -> None:
        if len(record.text) > TEXT_LIMIT:
            record = record._replace(text=record.text[:TEXT_LIMIT])
        first = self._first.setdefault(record.kind, [])
        last = self._last.setdefault(record.kind, deque(maxlen=LAST_LIMIT))
        (first if len(first) < FIRST_LIMIT else last).append((self._count, record))
