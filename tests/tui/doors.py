"""A door to a file that a test holds in memory: what a node would read and find."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from console.logs.choice import search_of
from console.logs.window import Line
from console.state.log_state import Hits

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from console.errors import NegativeResult


class FileDoor:
    """Reads and searches `data`. `gate` holds a search back after its first part; `error` is what every call meets."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.gate = asyncio.Event()
        self.gate.set()
        self.error: NegativeResult | None = None
        self.reads: list[tuple[int, int]] = []
        self.searches: list[str] = []
        self.ended = 0
        """Searches that were left or came to their end."""

    async def read(self, offset: int, length: int) -> bytes:
        self.reads.append((offset, length))
        if self.error:
            raise self.error
        return self.data[offset : offset + length]

    async def search(self, typed: str, start: int, *, backward: bool, limit: int) -> AsyncGenerator[Hits]:
        self.searches.append(typed)
        if self.error:
            raise self.error
        try:
            yield Hits((), start // 2, start)
            await self.gate.wait()
            found = self._found(typed, start, backward=backward)
            yield Hits(tuple(found[:limit]), start, start, is_last=True, is_limited=len(found) > limit)
        finally:
            self.ended += 1

    def _found(self, typed: str, start: int, *, backward: bool) -> list[Line]:
        find, inverse, at, found = search_of(typed), typed.startswith("!"), 0, []
        for raw in self.data.splitlines(keepends=True):
            line = Line(0, at, raw.rstrip(b"\n"), len(raw.rstrip(b"\n")))
            at += len(raw)
            if (line.offset < start) == backward and (find(line.raw) is None) == inverse:
                found.append(line)
        return found[::-1] if backward else found
