"""The way to the parts of a replayed log: what the recording had of it, and nothing more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.logs.choice import search_of
from console.state.log_state import Hits

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from console.logs.window import Line, LineWindow


class WindowDoor:
    """Reads and searches a window in place of the node's file."""

    def __init__(self, window: LineWindow) -> None:
        self._window = window

    async def read(self, offset: int, length: int) -> bytes:
        """Return bytes of whole lines; nothing of what was not recorded."""
        begin, data = self._window.read(self._window.epoch, offset, length)
        return data[:length] if begin == offset else b""

    async def search(self, typed: str, start: int, *, backward: bool, limit: int) -> AsyncGenerator[Hits]:
        """Give all that is found at once."""
        found = list(self._found(typed, start, backward=backward))
        kept = tuple(found[-limit:][::-1] if backward else found[:limit])
        yield Hits(kept, start, start, is_last=True, is_limited=len(found) > limit)

    def _found(self, typed: str, start: int, *, backward: bool) -> Iterator[Line]:
        find, is_inverse = search_of(typed), typed.startswith("!")
        for _row, line in self._window.lines(self._window.first_row, self._window.end_row):
            is_there = not line.note and line.epoch == self._window.epoch and (line.offset < start) == backward
            if is_there and (find(line.raw) is None) == is_inverse:
                yield line
