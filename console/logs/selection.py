"""Which records of a log are wanted: since when, of which kinds and ranks, with which words. Several logs as one."""

from __future__ import annotations

import heapq
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from console.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from console.logs.record import Record
    from console.logs.search_pattern import SearchPattern

_SINCE = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?))?")
_AGO = re.compile(r"(\d{1,6})([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
HEAD = re.compile(rb"(?:^|[\r\n])[^\r\n]{0,200}?\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")


@dataclass(frozen=True, slots=True)
class Selection:
    """What is wanted; empty means everything. `since` as the log prints it: `2026-02-20 10:02:11`."""

    since: str = ""
    pattern: SearchPattern | None = None
    kinds: frozenset[str] = frozenset()
    ranks: frozenset[int] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.since or self.pattern or self.kinds or self.ranks)

    def takes(self, record: Record, ts: str) -> bool:
        """Is a record wanted, whose time is `ts`: its own, else that of the one before it?

        A record that names no rank belongs to all of them.
        """
        return (
            (not self.since or ts >= self.since)
            and (not self.kinds or record.kind in self.kinds)
            and (not self.ranks or record.rank is None or record.rank in self.ranks)
            and (self.pattern is None or self.pattern.matches(record.text))
        )


class Sieve:
    """Takes the wanted records out of one log, in order."""

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._ts = ""

    def take(self, records: Iterable[Record]) -> list[tuple[str, Record]]:
        """The wanted ones, each with its time; a record without a time has that of the one before it."""
        taken = []
        for record in records:
            self._ts = record.ts or self._ts
            if self._selection.takes(record, self._ts):
                taken.append((self._ts, record))
        return taken


def merged(logs: Sequence[tuple[str, Sequence[tuple[str, Record]]]]) -> Iterator[tuple[str, Record]]:
    """Several logs by time: (label, record); within a log its own order is kept, whatever its clock does."""
    keyed = [
        [(latest, place, number, label, record) for number, (latest, record) in enumerate(_rising(records))]
        for place, (label, records) in enumerate(logs)
    ]
    for _ts, _place, _number, label, record in heapq.merge(*keyed, key=lambda each: each[:3]):
        yield label, record


def _rising(records: Iterable[tuple[str, Record]]) -> Iterator[tuple[str, Record]]:
    latest = ""
    for ts, record in records:
        latest = max(latest, ts)
        yield latest, record


def seconds_ago(typed: str) -> int | None:
    """Read `90s`, `10m`, `2h`, `1d`; None for another form."""
    match = _AGO.fullmatch(typed.strip())
    return int(match[1]) * _SECONDS[match[2]] if match else None


def point_in_time(typed: str) -> str:
    """Read `2026-02-20`, `2026-02-20T10:02` or with seconds, as the log prints it. Raises UsageError."""
    match = _SINCE.fullmatch(typed.strip())
    if match is None:
        raise UsageError(f"{typed!r} is no time", "Give 10m, 2h, 1d, or the node's time as 2026-02-20T10:02:11.")
    clock = match[2] or "00:00:00"
    return f"{match[1]} {clock if len(clock) == 8 else clock + ':00'}"


def first_time(data: bytes) -> str:
    """The first time that a stretch of a log prints; empty when it prints none."""
    match = HEAD.search(data)
    return match[1].decode() if match else ""
