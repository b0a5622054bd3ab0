"""Exceptions grouped by their final error, the first on top: `RuntimeError: … x8 (TP0..TP7)`.

Only the first line of a logged traceback has a head; the rest is bare, and ranks interleave. A rank is named where a
line names it, or where the ranks that announced an exception and the errors that followed leave no choice.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from console.logs.highlight import without_secrets
from console.logs.parsers.traceback import exception_line

if TYPE_CHECKING:
    from console.logs.record import Record

GROUPS_LIMIT = 64
"""Different final errors kept, the first; further ones are counted in `left_out`."""
OFFSETS_LIMIT = 64
FRAMES_LIMIT = 48
SENTENCE_LIMIT = 2000
RANKS_LIMIT = 4096

_NUMBERS = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class Crash:
    """One final error, of one process or of several."""

    name: str
    """The exception's class as printed; empty for an error without one."""
    said: str
    sentence: str
    count: int
    ranks: tuple[int, ...]
    """Ranks that are known to have had it."""
    offset: int
    """Byte offset of the first line of it: of its first cause, where it arose from another exception."""
    offsets: tuple[int, ...]
    """Of each time that the final error stands in the log, the first ones."""
    frames: tuple[str, ...]
    """`path:line` of the first one's traceback, outermost first; empty where tracebacks of several ranks mix."""
    causes: tuple[str, ...]
    """Sentences of the exceptions that it arose from, the first cause first."""

    @property
    def first(self) -> str:
        """The first cause."""
        return self.causes[0] if self.causes else self.sentence

    @property
    def label(self) -> str:
        """How often, and on which ranks: `x8 (TP0..TP7)`, `TP3`; empty for one of an unknown rank."""
        named = _ranks(self.ranks)
        if self.count == 1:
            return named
        unnamed = self.count - len(self.ranks)
        told = ", ".join(filter(None, (named, f"{unnamed} unnamed" if named and unnamed > 0 else "")))
        return f"x{self.count} ({told})" if told else f"x{self.count}"

    def to_json(self) -> dict[str, object]:
        return {
            "name": self.name,
            "sentence": without_secrets(self.sentence),
            "count": self.count,
            "ranks": list(self.ranks),
            "label": self.label,
            "offset": self.offset,
            "first": without_secrets(self.first),
            "causes": [without_secrets(cause) for cause in self.causes],
            "frames": list(self.frames),
        }


@dataclass(slots=True)
class _Group:
    name: str
    said: str
    sentence: str
    offset: int
    causes: tuple[str, ...]
    frames: tuple[str, ...]
    offsets: list[int] = field(default_factory=list)
    count: int = 0
    ranks: set[int] = field(default_factory=set)


class Crashes:
    """Folds failures, torch errors and tracebacks of one launch."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """A new launch."""
        self.left_out = 0
        self._groups: dict[str, _Group] = {}
        self._open: list[int | None] = []
        """Ranks that announced an exception whose final error has not come."""
        self._begun = 0
        """Tracebacks that began since the last final error."""
        self._frames: deque[str] = deque(maxlen=FRAMES_LIMIT)
        self._last: tuple[str, int | None] | None = None
        """The last final error's group and rank: a chain line makes a cause of it."""
        self._causes: tuple[str, ...] = ()
        self._causes_offset: int | None = None

    def fold(self, record: Record) -> None:
        """Take in a record of kind `failure`, `torch_error` or `traceback`."""
        part = record.fields.get("part")
        if part == "frame":
            self._frames.append(f"{record.fields['path']}:{record.fields['line']}")
        elif part == "chain":
            self._chain()
        elif part == "start" or record.fields.get("cause") == "exception":
            self._begin(record)
        elif part in {None, "exception"}:
            sentence = str(record.fields.get("sentence", ""))[:SENTENCE_LIMIT]
            if told := exception_line(sentence):
                self._end(record, *told, sentence)

    def groups(self) -> tuple[Crash, ...]:
        """The first first."""
        announced = {rank for rank in self._open if rank is not None}
        only = len(self._groups) == 1 and len(announced) == len(self._open)
        return tuple(self._crash(group, announced if only else set()) for group in self._groups.values())

    def _begin(self, record: Record) -> None:
        if record.fields.get("cause") == "exception" or record.rank is not None:
            if len(self._open) < RANKS_LIMIT:
                self._open.append(record.rank)
        self._begun += 1
        if self._begun == 1:
            self._frames.clear()

    def _end(self, record: Record, name: str, said: str, sentence: str) -> None:
        rank = self._rank_of(record)
        key = _NUMBERS.sub("#", sentence) if record.fields.get("error") == "out_of_memory" else f"{name}: {said}"
        group = self._groups.get(key)
        if group is None:
            if len(self._groups) >= GROUPS_LIMIT:
                self.left_out += 1
                return
            offset = record.offset if self._causes_offset is None else self._causes_offset
            frames = tuple(self._frames) if self._begun <= 1 else ()
            group = self._groups[key] = _Group(name, said, sentence, offset, self._causes, frames)
        group.count += 1
        if rank is not None:
            group.ranks.add(rank)
        if len(group.offsets) < OFFSETS_LIMIT:
            group.offsets.append(record.offset)
        self._last = key, rank
        self._begun, self._causes, self._causes_offset = 0, (), None
        self._frames.clear()

    def _rank_of(self, record: Record) -> int | None:
        """The rank that the line names, or else the only one that announced an exception."""
        if record.rank is not None:
            if record.rank in self._open:
                self._open.remove(record.rank)
            return record.rank if 0 <= record.rank < RANKS_LIMIT else None
        return self._open.pop() if len(self._open) == 1 else None

    def _chain(self) -> None:
        """The error that stood last was no final one: what follows arose from it."""
        if self._last is None:
            return
        key, rank = self._last
        group = self._groups[key]
        self._causes = (*group.causes, group.sentence)
        self._causes_offset = min(group.offset, group.offsets[-1]) if group.count == 1 else group.offsets[-1]
        group.count -= 1
        if rank is not None:
            group.ranks.discard(rank)
            self._open.append(rank)
        if group.offsets:
            group.offsets.pop()
        if not group.count:
            del self._groups[key]
        self._last = None

    @staticmethod
    def _crash(group: _Group, announced: set[int]) -> Crash:
        unnamed = group.count - len(group.ranks)
        ranks = group.ranks | (announced if len(announced) == unnamed else set())
        return Crash(
            name=group.name,
            said=group.said,
            sentence=group.sentence,
            count=group.count,
            ranks=tuple(sorted(ranks)),
            offset=group.offset,
            offsets=tuple(group.offsets),
            frames=group.frames,
            causes=group.causes,
        )


def _ranks(ranks: tuple[int, ...]) -> str:
    """`TP0..TP7` where they follow each other, else `TP3, TP5`."""
    if len(ranks) > 2 and ranks[-1] - ranks[0] == len(ranks) - 1:
        return f"TP{ranks[0]}..TP{ranks[-1]}"
    return ", ".join(f"TP{rank}" for rank in ranks)
