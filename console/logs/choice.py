"""Which lines of a log are looked at: those that match, of some ranks, eight equal ones as one."""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from console.errors import UsageError
from console.logs.search_pattern import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from console.logs.marks import Marks
    from console.logs.window import Line, LineWindow

LIMIT = 50_000
"""Rows kept of those that came, the newest."""
HELD_LIMIT = 4 * LIMIT
"""Rows kept while the view is held: what is looked at does not move before."""
HEAD = 400
"""Bytes in which a line names its rank."""
LATELY = 64
"""Different lines among which an equal one is looked for: eight ranks write at nearly the same time."""

_RANK = re.compile(rb"\brank[=: ]?(\d{1,4})\b|\bTP(\d{1,4})\b")
_VARIES = re.compile(
    rb"\brank[=: ]?\d{1,4}\b|\bTP\d{1,4}\b|\bcuda:\d{1,4}\b|\bseq=\d{1,12}\b|\bpid[=: ]\d{1,10}\b"
    rb"|\d\d:\d\d:\d\d(?:[.,]\d{1,6})?"
)


@dataclass(frozen=True, slots=True)
class Choice:
    """What is looked at. The default is everything."""

    typed: str = ""
    """As typed: `!` first shows what does not match; any case while all is lower."""
    ranks: frozenset[int] = frozenset()
    """Ranks shown; none named is all. A line that names no rank is always shown."""
    collapse: bool = False
    unclaimed: bool = False

    @property
    def is_everything(self) -> bool:
        return self == Choice()

    def test(self) -> Callable[[bytes], bool]:
        """Return the test of a line's bytes. Raises UsageError."""
        tests = [each for each in (self._matches(), self._of_ranks()) if each]
        if len(tests) == 1:
            return tests[0]
        return lambda raw: all(test(raw) for test in tests)

    def _matches(self) -> Callable[[bytes], bool] | None:
        if not self.typed.removeprefix("!"):
            return None
        pattern = search_of(self.typed)
        inverse = self.typed.startswith("!")
        return lambda raw: (pattern(raw) is None) == inverse

    def _of_ranks(self) -> Callable[[bytes], bool] | None:
        if not self.ranks:
            return None
        return lambda raw: (rank := rank_of(raw)) is None or rank in self.ranks


def search_of(typed: str) -> Callable[[bytes], re.Match[bytes] | None]:
    """Return what finds the typed pattern in a line, `!` aside. Raises UsageError."""
    found = parse(typed)
    return re.compile(found.text.encode(), re.IGNORECASE if found.ignore_case else 0).search


def parse_ranks(typed: str) -> frozenset[int]:
    """Read `0,2-3`. Raises UsageError."""
    ranks: set[int] = set()
    for part in filter(None, (part.strip() for part in typed.split(","))):
        match = re.fullmatch(r"(\d{1,4})(?:-(\d{1,4}))?", part)
        if match is None:
            raise UsageError(f"{part!r} is no rank", "A list of ranks is 0,2-3; nothing is all.")
        ranks.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    return frozenset(ranks)


def rank_of(raw: bytes) -> int | None:
    """The rank that a line names, None when it names none."""
    match = _RANK.search(raw, 0, HEAD)
    return int(match[1] or match[2]) if match else None


@dataclass(slots=True)
class Entry:
    """One row: a line, and how many equal ones of other ranks stand for it."""

    line: Line
    ranks: set[int] = field(default_factory=set)

    @property
    def count(self) -> int:
        return max(1, len(self.ranks))


class ChosenRows:
    """The rows that a choice leaves, by key: what came since is 0, 1, …; what a search found before that -1, -2, …"""

    def __init__(self, choice: Choice) -> None:
        self.choice = choice
        self._test = choice.test()
        self._old: list[Entry] = []
        self._new: list[Entry] = []
        self._dropped = 0
        self._taken: int | None = None
        self._lately: OrderedDict[bytes, Entry] = OrderedDict()

    def __len__(self) -> int:
        return len(self._old) + len(self._new)

    @property
    def first_row(self) -> int:
        return -len(self._old) if not self._dropped else self._dropped

    @property
    def end_row(self) -> int:
        return self._dropped + len(self._new)

    def line(self, row: int) -> Line:
        return self.entry(row).line

    def entry(self, row: int) -> Entry:
        """Return a row. Raises IndexError when there is none."""
        if row < 0:
            return self._old[-1 - row]
        if row < self._dropped:
            raise IndexError(row)
        return self._new[row - self._dropped]

    def found(self, lines: Iterable[Line]) -> None:
        """Take in earlier lines, newest first, of which it is known that they match."""
        of_ranks = Choice(ranks=self.choice.ranks).test()
        if not self._dropped:
            self._old.extend(Entry(line) for line in lines if of_ranks(line.raw))

    def take(self, window: LineWindow, limit: int, until: int, marks: Marks, *, is_held: bool = False) -> bool:
        """Take in up to `limit` rows of the window, those below row `until`; True when there are more."""
        first = window.first_row if self._taken is None else self._taken
        end = min(until, max(first, window.first_row) + limit)
        for _row, line in window.lines(first, end):
            if line.note or (self._test(line.raw) and self._is_of_kind(line, marks)):
                self._put(line)
        self._taken = max(first, end)
        keep = HELD_LIMIT if is_held else LIMIT
        if len(self._new) > keep:
            drop = len(self._new) - keep
            del self._new[:drop]
            self._dropped += drop
            self._old.clear()
        return end < until

    def lines(self) -> Iterator[Line]:
        """All rows in the order of the file."""
        for entry in reversed(self._old):
            yield entry.line
        for entry in self._new:
            yield entry.line

    def _is_of_kind(self, line: Line, marks: Marks) -> bool:
        return not self.choice.unclaimed or marks.has("unclaimed", line.offset)

    def _put(self, line: Line) -> None:
        rank = rank_of(line.raw) if self.choice.collapse else None
        if rank is None:
            self._new.append(Entry(line))
            return
        key = _VARIES.sub(b"#", line.raw)
        entry = self._lately.get(key)
        if entry is not None and rank not in entry.ranks:
            entry.ranks.add(rank)
            return
        self._lately[key] = entry = Entry(line, {rank})
        self._lately.move_to_end(key)
        if len(self._lately) > LATELY:
            self._lately.popitem(last=False)
        self._new.append(entry)
