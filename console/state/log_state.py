"""The slice of the followed log, and the door to the parts of the file that are not in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from console.logs.marks import Marks
    from console.logs.reading import LogReading
    from console.logs.window import Line, LineWindow


@dataclass(frozen=True, slots=True)
class Hits:
    """A part of a search's results, in the order of the search, and how far it is."""

    lines: tuple[Line, ...]
    searched: int
    total: int
    """Bytes of the file that are done, and that are to be done."""
    is_last: bool = False
    is_limited: bool = False
    """True when there are more matches than are shown."""


class LogDoor(Protocol):
    """The way to the parts of the followed file that are not in its window. All raise ConsoleError."""

    async def read(self, offset: int, length: int) -> bytes:
        """Bytes of the file, fewer at its end."""

    def search(self, typed: str, start: int, *, backward: bool, limit: int) -> AsyncGenerator[Hits]:
        """Lines that match and begin at `start` or later, or before it; leaving the loop ends the search there."""


@dataclass(frozen=True, slots=True)
class LogState:
    """The followed log. `window` and `marks` are the two mutable things here: `version` grows with the window."""

    run_id: str = ""
    path: str = ""
    record: Mapping[str, Any] = field(default_factory=dict)
    """The server's run record, or what stands for it: what its shapes are judged by."""
    window: LineWindow | None = None
    marks: Marks | None = None
    door: LogDoor | None = None
    version: int = 0
    read_to: int = 0
    size: int = 0
    reading: LogReading | None = None
    """What it says, as far as it was parsed."""
    fold_behind: int = 0
    """Bytes of the window that were not parsed yet."""
    skipped: int = 0
    """Bytes in the middle of a long file that nobody parsed."""
    problem: str = ""

    @property
    def behind_bytes(self) -> int:
        """Bytes of the file that were not taken in yet."""
        return max(0, self.size - self.read_to)
