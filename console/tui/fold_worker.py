"""The process that reads a log for what it says: it takes bytes on its standard input and answers what they amount to.

Parsing takes some microseconds a line, and eight ranks write many: in a process of its own, with less claim to a core,
it never keeps a key or a frame waiting.
"""

from __future__ import annotations

import os
import pickle
import signal
import struct
import sys
import time
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from console.logs.marks import MarkKind
    from console.logs.reading import LogReading

HEAD = struct.Struct("!I")
"""Length of the message that follows."""
READING_S = 0.25
"""Least time between two readings: they are made for eyes."""
LESS_CLAIM = 2
"""Niceness: the console's own process goes first."""


@dataclass(frozen=True, slots=True)
class Feed:
    """Bytes of the file, the next in order; `more` says that further ones are there already."""

    offset: int
    data: bytes
    at: float
    """Seconds of a monotonic clock."""
    more: bool


@dataclass(frozen=True, slots=True)
class Anew:
    """The file was truncated or replaced: go on at `offset` of what it is now."""

    offset: int
    reason: str
    lost: int


@dataclass(frozen=True, slots=True)
class Folded:
    """What came of one message."""

    marks: Mapping[MarkKind, list[int]]
    reading: LogReading | None


def pack(message: object) -> bytes:
    """A message with its length in front. Both ends are this program, so pickle meets nothing that others made."""
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return HEAD.pack(len(data)) + data


def main() -> None:
    """Serve until standard input ends. The first argument is the number of ranks, 0 when it is not known."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(LESS_CLAIM)
    _serve(sys.stdin.buffer, sys.stdout.buffer, int(sys.argv.pop(1)) or None)


def _serve(incoming: IO[bytes], outgoing: IO[bytes], tp_size: int | None) -> None:
    from console.logs.history import LogHistory
    from console.logs.marks import MarkFold
    from console.logs.reading import LogReading

    history, marks = LogHistory(tp_size, records_limit=0), MarkFold()
    told_at = 0.0
    while (message := _read(incoming)) is not None:
        if isinstance(message, Feed):
            records = history.feed(message.offset, message.data, message.at)
            more = message.more
        else:
            records = history.reset(message.offset, message.reason, message.lost)
            marks.begin_anew()
            more = True
        found = marks.fold(history, records)
        reading = None
        if not more or time.monotonic() - told_at > READING_S:
            reading = LogReading.of(history)
            told_at = time.monotonic()
        outgoing.write(pack(Folded(found, reading)))
        outgoing.flush()


def _read(incoming: IO[bytes]) -> Any:
    head = incoming.read(HEAD.size)
    if len(head) < HEAD.size:
        return None
    data = incoming.read(HEAD.unpack(head)[0])
    return pickle.loads(data)  # written by `pack` at the other end of our own pipe
