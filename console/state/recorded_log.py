"""Owns the followed log in a recording: its bytes and marks as they came, and the window made of them again. Pure.

The state holds the log as a window that grows. A recording holds what grew: rows `bytes`, `anew` (the file is another
one) and `marks`, each before the event that told of it.
"""

from __future__ import annotations

import base64
from bisect import bisect_right
from typing import TYPE_CHECKING, Any, cast

from console.launch.secret_text import masked_bytes
from console.logs.marks import KINDS, Marks
from console.logs.window import LineWindow
from console.state.codec import DecodeError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PIECE = 256 * 1024
"""Bytes of the log in one row, at about."""
AT_ONCE = 512 * 1024
"""Bytes that are written with one event: of a flood the rest comes with later ones, and holds no frame up. What the
window has dropped by then is a gap that is seen in the replay."""
_LARGEST = 2**62


class LogTap:
    """Follows one log's window and marks from row to row. `known`: secrets by their values."""

    def __init__(self, window: LineWindow, marks: Marks, known: Sequence[str]) -> None:
        self._window = window
        self._marks = marks
        self._known = known
        self._epoch = window.first_epoch
        self._offset = window.start
        self._marked = dict.fromkeys(KINDS, -1)

    def grown(self, limit: int | None = AT_ONCE) -> Iterator[dict[str, Any]]:
        """What the window took in since the last time, about `limit` bytes of it; None is all."""
        told = 0
        while limit is None or told < limit:
            begin, data = self._window.read(self._epoch, self._offset, PIECE)
            if data:
                told += len(data)
                self._offset = begin + len(data)
                yield {"log": "bytes", "offset": begin, **_written(masked_bytes(data, self._known))}
            elif self._epoch < self._window.epoch:
                yield self._anew()
            else:
                return

    def marked(self) -> Iterator[dict[str, Any]]:
        """Which places were marked since the last time."""
        if any(at >= 0 and (not self._marks[kind] or self._marks[kind][-1] < at) for kind, at in self._marked.items()):
            self._marked = dict.fromkeys(KINDS, -1)
            yield {"log": "marks", "kind": "", "offsets": []}
        for kind in KINDS:
            offsets = self._marks[kind]
            fresh = list(offsets[bisect_right(offsets, self._marked[kind]) :])
            if fresh:
                self._marked[kind] = fresh[-1]
                yield {"log": "marks", "kind": kind, "offsets": fresh}

    def _anew(self) -> dict[str, Any]:
        self._epoch += 1
        first = self._window.first_of(self._epoch)
        self._offset = first.offset if first else 0
        why = first.note.rpartition(": read on from byte ")[0] if first else ""
        return {"log": "anew", "offset": self._offset, "why": why or "the file is another one"}


class LogAgain:
    """A window and marks that grow by the rows of a recording."""

    def __init__(self) -> None:
        self.window = LineWindow()
        self.marks = Marks()

    def take(self, row: dict[str, Any]) -> None:
        """Take in a row. Raises DecodeError."""
        if row["log"] == "bytes":
            self.window.append(_offset(row.get("offset")), _read(row))
        elif row["log"] == "anew":
            self.window.begin_anew(str(row.get("why", ""))[:1000], _offset(row.get("offset")))
        elif row["log"] == "marks":
            self._mark(row.get("kind"), row.get("offsets"))
        else:
            raise DecodeError(f"log: {str(row['log'])[:40]!r} is no row of a log")

    def _mark(self, kind: Any, offsets: Any) -> None:
        if kind == "":
            self.marks.clear()
        elif kind in KINDS and isinstance(offsets, list):
            self.marks.add({kind: [_offset(each) for each in offsets]})
        else:
            raise DecodeError("log: no marks")


def _written(data: bytes) -> dict[str, str]:
    """As text where it is such, which people can read."""
    try:
        return {"text": data.decode("utf-8")}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}


def _read(row: dict[str, Any]) -> bytes:
    try:
        if "text" in row:
            return cast("str", row["text"]).encode("utf-8")
        return base64.b64decode(row["base64"], validate=True)
    except (ValueError, TypeError, AttributeError, KeyError):
        raise DecodeError("log: no bytes") from None


def _offset(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= _LARGEST:
        raise DecodeError("log: no offset")
    return value
