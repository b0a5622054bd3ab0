"""A stretch of a log as it stands in the file: bytes in blocks, found by row and by byte offset.

Nothing is parsed here: a row is cut out of its block when somebody looks at it, so taking bytes in costs no more than
finding where lines end. Blocks never change once they are there, so a copy is only a new list of them.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING

from console.logs.split import LineSplitter
from console.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

BYTES_LIMIT = 24 * 1024 * 1024
"""Bytes kept; the file itself is the full history."""
BLOCK_BYTES = 64 * 1024
"""A block that is smaller takes in what follows."""
ROWS_LIMIT = 600_000
"""Rows kept: empty lines have one byte."""
OPEN_LIMIT = 64 * 1024
"""Bytes kept of a line that is longer: nobody reads on, and its length is told."""
TEXT_LIMIT = 4096
"""Bytes of a line that become text to be drawn."""


@dataclass(frozen=True, slots=True)
class Line:
    """One row. `note` is ours, where the file has a gap or began anew; then there are no bytes."""

    epoch: int
    """Grows when the file is replaced or truncated: an offset means something only within its epoch."""
    offset: int
    raw: bytes = b""
    """The line without its end; of a very long one its beginning."""
    length: int = 0
    """Bytes of the whole line, without its end."""
    note: str = ""

    @property
    def text(self) -> str:
        """What is to be read: no escapes, no control characters, and no more than TEXT_LIMIT bytes."""
        return self.note or plain_text(self.raw)

    @property
    def is_cut(self) -> bool:
        return self.length > TEXT_LIMIT


@dataclass(frozen=True, slots=True)
class Block:
    """Rows that lie together in the file."""

    epoch: int
    offset: int
    length: int
    """Bytes of the file that it stands for: more than `data` has where a very long line was cut."""
    first_row: int
    data: bytes = b""
    starts: array[int] = field(default_factory=lambda: array("I", [0]))
    note: str = ""

    @property
    def end(self) -> int:
        return self.offset + self.length

    @property
    def end_row(self) -> int:
        return self.first_row + len(self.starts)

    def holds(self, epoch: int, offset: int) -> bool:
        return self.epoch == epoch and not self.note and self.offset <= offset < self.end

    def padded(self) -> bytes:
        """The data in its true length: zeros, which no reader of logs sees, stand for what was cut."""
        cut = self.length - len(self.data)
        return self.data[:OPEN_LIMIT] + bytes(cut) + self.data[OPEN_LIMIT:] if cut else self.data

    def line(self, row: int) -> Line:
        if self.note:
            return Line(self.epoch, self.offset, note=self.note)
        index = row - self.first_row
        start = self.starts[index]
        end = self.starts[index + 1] if index + 1 < len(self.starts) else len(self.data)
        raw = _without_end(self.data[start:end])
        cut = self.length - len(self.data)
        return Line(self.epoch, self.offset + start, raw, len(raw) + cut)


class LineWindow:
    """Rows by number. Numbers stay with their lines: later lines have higher ones, and earlier ones may be negative."""

    def __init__(self, bytes_limit: int = BYTES_LIMIT) -> None:
        self.version = 0
        """Grows with each change."""
        self.epoch = 0
        self._limit = bytes_limit
        self._blocks: list[Block] = []
        self._first_rows: list[int] = []
        self._bytes = 0
        self._next: int | None = None
        self._open = b""
        self._open_offset = 0
        self._open_dropped = 0

    def __len__(self) -> int:
        return self.end_row - self.first_row

    @property
    def first_row(self) -> int:
        return self._blocks[0].first_row if self._blocks else 0

    @property
    def end_row(self) -> int:
        return self._blocks[-1].end_row if self._blocks else 0

    @property
    def start(self) -> int:
        """Byte offset of the first row."""
        return self._blocks[0].offset if self._blocks else self._open_offset

    @property
    def end(self) -> int:
        """Byte offset behind the last whole line."""
        return self._blocks[-1].end if self._blocks else self._open_offset

    @property
    def next_offset(self) -> int:
        """Byte offset up to which bytes were taken in."""
        return self._next or 0

    @property
    def first_epoch(self) -> int:
        return self._blocks[0].epoch if self._blocks else self.epoch

    def line(self, row: int) -> Line:
        """Return a row. Raises IndexError when it is not kept."""
        return self._blocks[self._block_of(row)].line(row)

    def first_of(self, epoch: int) -> Line | None:
        """Return the first row of an epoch that is kept: its note of why it began, unless that is gone."""
        return next((block.line(block.first_row) for block in self._blocks if block.epoch == epoch), None)

    def lines(self, first: int, end: int) -> Iterator[tuple[int, Line]]:
        """Rows from `first` on with their numbers, as far as they are kept."""
        row = max(first, self.first_row)
        end = min(end, self.end_row)
        index = bisect_right(self._first_rows, row) - 1
        while row < end:
            block = self._blocks[index]
            for at in range(row, min(end, block.end_row)):
                yield at, block.line(at)
            row, index = block.end_row, index + 1

    def row_at(self, offset: int, epoch: int | None = None) -> int | None:
        """Return the row that holds a byte of the file as it is now (or was in `epoch`), None when it is not kept."""
        epoch = self.epoch if epoch is None else epoch
        for block in reversed(self._blocks):
            if block.holds(epoch, offset):
                return block.first_row + max(0, bisect_right(block.starts, offset - block.offset) - 1)
        return None

    def read(self, epoch: int, offset: int, limit: int) -> tuple[int, bytes]:
        """Return about `limit` bytes of whole lines from `offset` on, and where they begin: further on behind a gap.

        Nothing when no later byte of that epoch is kept.
        """
        pieces: list[bytes] = []
        size, begin = 0, offset
        for block in self._blocks[self._first_from(epoch, offset) :]:
            if block.note or (pieces and not block.holds(epoch, offset)) or block.epoch != epoch or size >= limit:
                if pieces or block.epoch > epoch:
                    break
                continue
            if not pieces:
                begin = offset = max(offset, block.offset)
            pieces.append(block.padded()[offset - block.offset :])
            size += len(pieces[-1])
            offset += len(pieces[-1])
        return begin, b"".join(pieces)

    def copy(self) -> LineWindow:
        """A window with the same rows that goes its own way."""
        other = LineWindow(self._limit)
        other.epoch, other._bytes, other._next = self.epoch, self._bytes, self.end
        other._open_offset = self.end
        other._blocks, other._first_rows = self._blocks.copy(), self._first_rows.copy()
        return other

    def append(self, offset: int, data: bytes) -> None:
        """Take in bytes found at `offset`. Bytes seen before are skipped; a jump forward becomes a visible row."""
        if self._next is None:
            self._next = self._open_offset = offset
        if offset < self._next:
            data = data[self._next - offset :]
        elif offset > self._next:
            self._close()
            missing = offset - self._next
            self._put(self._next, note=f"{format_bytes(missing)} of the file are missing here")
            self._next = self._open_offset = offset
        if not data:
            return
        self._next += len(data)
        self._take(self._open + data if self._open else data)
        self._trim_front()
        self.version += 1

    def prepend(self, offset: int, data: bytes) -> int:
        """Take in bytes that end where the first row begins; return how many rows came.

        A line whose beginning is not in them is left out, unless they begin the file.
        """
        skip = 0 if offset == 0 else _first_start(data)
        data, offset = data[skip:], offset + skip
        if not data:
            return 0
        starts = _starts(data)
        block = Block(self.first_epoch, offset, len(data), self.first_row - len(starts), data, starts)
        self._blocks.insert(0, block)
        self._first_rows.insert(0, block.first_row)
        self._bytes += len(data)
        while self._bytes > self._limit and len(self._blocks) > 1:
            self._bytes -= len(self._blocks.pop().data)
            self._first_rows.pop()
            self._next, self._open, self._open_dropped = self.end, b"", 0
            self._open_offset = self.end
        self.version += 1
        return len(starts)

    def begin_anew(self, why: str, offset: int = 0, lost: int = 0) -> None:
        """The file was truncated or replaced: what is kept stays, and a row says why what follows is another file."""
        self._close()
        self.epoch += 1
        missing = f"; {format_bytes(lost)} were lost" if lost else ""
        self._put(offset, note=f"{why}{missing}: read on from byte {offset:,}")
        self._next = self._open_offset = offset
        self.version += 1

    def _take(self, data: bytes) -> None:
        # A CR that ends the data may be the half of a CRLF.
        last = max(data.rfind(b"\n"), data.rfind(b"\r", 0, -1))
        whole, rest = data[: last + 1], data[last + 1 :]
        if whole and self._open_dropped:
            end = _first_start(whole)
            self._put(self._open_offset, whole[:end], dropped=self._open_dropped)
            self._open_offset += end + self._open_dropped
            self._open_dropped = 0
            whole = whole[end:]
        if whole:
            self._put(self._open_offset, whole)
            self._open_offset += len(whole)
        self._open = rest
        if len(rest) > OPEN_LIMIT:
            held = rest[-1:] if rest.endswith(b"\r") else b""
            self._open_dropped += len(rest) - OPEN_LIMIT - len(held)
            self._open = rest[:OPEN_LIMIT] + held

    def _close(self) -> None:
        """End the half line that is held."""
        if self._open:
            self._put(self._open_offset, self._open, dropped=self._open_dropped)
        self._open, self._open_dropped = b"", 0

    def _put(self, offset: int, data: bytes = b"", *, note: str = "", dropped: int = 0) -> None:
        starts = array("I", [0]) if note or dropped else _starts(data)
        last = self._blocks[-1] if self._blocks else None
        joins = last and not (note or dropped or last.note) and last.length == len(last.data) < BLOCK_BYTES
        if last and joins and last.epoch == self.epoch and last.end == offset:
            shift = len(last.data)
            both = last.starts + array("I", [shift + start for start in starts])
            self._blocks[-1] = Block(self.epoch, last.offset, shift + len(data), last.first_row, last.data + data, both)
        elif not starts:
            return
        else:
            row = self.end_row
            self._blocks.append(Block(self.epoch, offset, len(data) + dropped, row, data, starts, note))
            self._first_rows.append(row)
        self._bytes += len(data)

    def _trim_front(self) -> None:
        drop = 0
        while (self._bytes > self._limit or len(self) > ROWS_LIMIT) and len(self._blocks) - drop > 1:
            self._bytes -= len(self._blocks[drop].data)
            drop += 1
            if self.end_row - self._blocks[drop].first_row <= ROWS_LIMIT and self._bytes <= self._limit:
                break
        if drop:
            del self._blocks[:drop], self._first_rows[:drop]

    def _first_from(self, epoch: int, offset: int) -> int:
        """Return the index of the first block with bytes of an epoch behind `offset`, or of a later epoch."""
        return next(
            (
                at
                for at, block in enumerate(self._blocks)
                if block.epoch > epoch or (block.epoch == epoch and block.end > offset)
            ),
            len(self._blocks),
        )

    def _block_of(self, row: int) -> int:
        if not self.first_row <= row < self.end_row:
            raise IndexError(row)
        return bisect_right(self._first_rows, row) - 1


def plain_text(raw: bytes, limit: int = TEXT_LIMIT) -> str:
    """The text of a line's bytes, as the splitter makes it: nothing in it moves a cursor or hides the rest."""
    if raw.isascii() and len(raw) <= limit and raw[:1] != b"{":  # docker's JSON is not what it says
        text = raw.decode("ascii")
        if text.isprintable():
            return text
    (line,) = LineSplitter(limit).feed(0, raw + b"\n") or LineSplitter(limit).feed(0, b"\n")
    return line.text


def _starts(data: bytes) -> array[int]:
    """Where lines begin. A tqdm bar has its CR in front: the empty line before it is none."""
    lines = data.splitlines(keepends=True)
    starts = array("I", accumulate(map(len, lines), initial=0))
    starts.pop()
    if b"\r" in data:
        starts = array("I", [start for start, line in zip(starts, lines, strict=True) if line != b"\r"])
    return starts


def _first_start(data: bytes) -> int:
    """Where the second line begins: behind the first line end, or behind everything."""
    first = data.splitlines(keepends=True)[0] if len(data) < 2 * BLOCK_BYTES else _head(data)
    return len(first)


def _head(data: bytes) -> bytes:
    ends = [at for at in (data.find(b"\n"), data.find(b"\r")) if at >= 0]
    at = min(ends, default=len(data) - 1)
    return data[: at + 2] if data[at : at + 2] == b"\r\n" else data[: at + 1]


def _without_end(raw: bytes) -> bytes:
    """The line alone: an empty one that `_starts` left out stands behind it."""
    return raw.splitlines()[0] if raw else raw
