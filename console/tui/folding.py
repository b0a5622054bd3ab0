"""The near end of the fold process: keeps it fed from where it stands in the file, and tells what it answers."""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import sys
import time
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from console.errors import ConsoleError
from console.state.events import LogFolded
from console.tui.fold_worker import HEAD, Anew, Feed, Folded, pack

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from console.logs.marks import Marks
    from console.logs.reading import LogReading
    from console.logs.window import LineWindow
    from console.tui.stream import EventStream

PIECE = 256 * 1024
"""Bytes folded at once: some thousand lines."""
AHEAD = 6
"""Pieces that the process has before it answers the first: it does not wait while a frame is drawn here."""
BACKLOG_LIMIT = 64 * 1024 * 1024
HEAD_BYTES = 4 * 1024 * 1024
"""Of a longer file the beginning (how the server was launched) and the newest BACKLOG_LIMIT are read, and the bytes
between them are told as not counted: a gigabyte is not brought over the network without being asked for."""
_START = "import sys; sys.path[:] = sys.argv[2:]; from console.tui.fold_worker import main; main()"


class FoldStopped(ConsoleError):
    """The process that reads the log ended."""


class _Handed(NamedTuple):
    """A piece that the process has and has not answered."""

    epoch: int
    end: int
    """Byte offset behind it."""


class Reader(Protocol):
    """How bytes that the window no longer has are had again."""

    def __call__(self, offset: int, length: int) -> Awaitable[bytes]: ...


class Folding:
    """Follows the window through the file, at its own pace: the window never waits for it."""

    def __init__(
        self,
        run_id: str,
        window: LineWindow,
        marks: Marks,
        read: Reader,
        stream: EventStream,
        heard: Callable[[LogReading], None],
    ) -> None:
        self._run_id = run_id
        self._window = window
        self._marks = marks
        self._read = read
        self._stream = stream
        self._heard = heard
        self._grown = asyncio.Event()
        self._resets: list[Anew] = []
        self._epoch = window.epoch
        self._process: asyncio.subprocess.Process | None = None
        self._handed: deque[_Handed] = deque()
        self._is_ended = False
        self._reading: LogReading | None = None
        self._middle: tuple[int, ...] | None = None
        """From where to where nothing is counted; empty when everything is, None before that is known."""
        self._handed_to = 0
        self.skipped = 0
        """Bytes between the head and the tail of a long file that are not counted."""

    def grown(self) -> None:
        """The window has more."""
        self._grown.set()

    def began_anew(self, offset: int, reason: str, lost: int) -> None:
        """The window began a new epoch."""
        self._resets.append(Anew(offset, reason, lost))
        self._grown.set()

    async def run(self, start: int, tp_size: int | None) -> None:
        """Fold from byte `start` on until cancelled. Raises FoldStopped."""
        process = self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-c", _START, str(tp_size or 0), *sys.path),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        assert process.stdin
        assert process.stdout
        line = _Line(process.stdin, process.stdout)
        self._handed_to = start
        try:
            while True:
                self._grown.clear()
                if len(self._window) and self._middle is None:
                    self._middle = _middle(start, self._window.start)
                if self._middle and self._is_at_middle and not self._handed:
                    await self._skip(self._middle[1])
                if len(self._handed) < AHEAD and await self._hand_on(line):
                    continue
                if self._handed:
                    self._tell(self._handed.popleft(), await line.answer())
                else:
                    await self._grown.wait()
        finally:
            await self.close()

    async def close(self) -> None:
        """End the process: it holds nothing that is not in the file."""
        process = self._process
        if process is None or process.returncode is not None:
            return
        if not self._is_ended:  # a second signal could reap it before asyncio does, which asyncio complains of
            self._is_ended = True
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        await process.wait()

    @property
    def _is_at_middle(self) -> bool:
        return bool(self._middle and self._handed_to >= self._middle[0])

    async def _skip(self, offset: int) -> None:
        """Go on at the first line behind `offset`."""
        self._middle = ()
        offset += (await self._read(offset, PIECE)).find(b"\n") + 1
        self.skipped = offset - self._handed_to
        self._handed_to = offset

    async def _hand_on(self, line: _Line) -> bool:
        """Give the process one piece; False when there is none yet, or answers have to come before it."""
        if self._is_at_middle:
            return False
        is_current = self._epoch == self._window.epoch
        begin, data = await self._next_piece(is_current=is_current)
        if data:
            self._handed_to = begin + len(data)
            more = not is_current or self._handed_to < self._window.end
            line.send(Feed(begin, data, time.monotonic(), more))
        elif is_current or self._handed:  # marks of an epoch come before the next one clears them
            return False
        else:
            anew = self._resets.pop(0)
            self._marks.clear()
            self._epoch, self._handed_to = self._epoch + 1, anew.offset
            line.send(anew)
        self._handed.append(_Handed(self._epoch, self._handed_to))
        return True

    async def _next_piece(self, *, is_current: bool) -> tuple[int, bytes]:
        at = self._handed_to
        if is_current and at < self._window.start:
            if data := await self._read(at, min(PIECE, self._window.start - at)):
                return at, data
        return self._window.read(self._epoch, at, PIECE)

    def _tell(self, handed: _Handed, folded: Folded) -> None:
        self._marks.add(folded.marks)
        is_current = handed.epoch == self._window.epoch
        behind = max(0, self._window.end - handed.end) if is_current else 0
        if self._middle:
            behind -= self._middle[1] - self._middle[0]
        if folded.reading:
            self._reading = folded.reading
            self._heard(folded.reading)
        self._stream.put(LogFolded(self._run_id, self._reading, behind, self.skipped))


def _middle(start: int, tail: int) -> tuple[int, ...]:
    head_ends, tail_begins = start + HEAD_BYTES, tail - BACKLOG_LIMIT
    return (head_ends, tail_begins) if tail_begins > head_ends else ()


class _Line:
    """Both ways to the process: it answers what it was sent, in that order."""

    def __init__(self, outgoing: asyncio.StreamWriter, incoming: asyncio.StreamReader) -> None:
        self._outgoing = outgoing
        self._incoming = incoming

    def send(self, message: object) -> None:
        # Not waited for: who waits here does not read, and then it may wait for us. AHEAD is the limit.
        self._outgoing.write(pack(message))

    async def answer(self) -> Folded:
        try:
            (length,) = HEAD.unpack(await self._incoming.readexactly(HEAD.size))
            answer: Any = pickle.loads(await self._incoming.readexactly(length))
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise FoldStopped("the process that reads the log ended", "It is started anew.", repr(error)) from error
        assert isinstance(answer, Folded)
        return answer
