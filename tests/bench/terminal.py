"""A program on a terminal of its own, its output cut into frames; and what /proc says of processes and cores."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROWS, COLUMNS = 50, 160
_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")

_ASKS_SYNC, _HAS_SYNC = b"\x1b[?2026$p", b"\x1b[?2026;2$y"
_FRAME_ENDS = b"\x1b[?2026l"
"""Synchronized output, as contour's and iTerm2's specification has it: an update ends with its reset."""
_MOVE = re.compile(rb"\x1b\[[\d;]*[Hf]")
_ESCAPE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_=>]|[()][0-9A-Za-z])")


class Frame(NamedTuple):
    """What came up to the end of one update."""

    at: float
    """When it was read, in seconds of the monotonic clock."""
    text: str


class Terminal:
    """160 x 50 cells. The program is this process's child until `close`."""

    def __init__(self, argv: list[str], **env: str) -> None:
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            os.environ.update(env, TERM="xterm-256color", COLORTERM="truecolor")
            os.execv(argv[0], argv)
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self._pending = b""
        self._whole: deque[Frame] = deque()

    def type(self, keys: str) -> float:
        """Send keys; return when."""
        at = time.monotonic()
        os.write(self._fd, keys.encode())
        return at

    def frames(self, wait_s: float = 0.05) -> list[Frame]:
        """The updates that are whole, after waiting for output for a while."""
        data = self._read(wait_s)
        if _ASKS_SYNC in self._pending + data:
            os.write(self._fd, _HAS_SYNC)
        *whole, self._pending = (self._pending + data).split(_FRAME_ENDS)
        now = time.monotonic()
        return [Frame(now, _text(part)) for part in whole]

    def until(self, pattern: str, timeout_s: float = 60.0) -> Frame:
        """The first frame that shows a pattern. Raises TimeoutError with what was shown last."""
        wanted, last = re.compile(pattern), ""
        for frame in self.each(timeout_s):
            if wanted.search(frame.text):
                return frame
            last = frame.text or last
        raise TimeoutError(f"{pattern!r} was not shown within {timeout_s} s; last:\n{last[-2000:]}")

    def each(self, timeout_s: float) -> Iterator[Frame]:
        """Frames as they come, an empty one now and then, until the time is over."""
        deadline = time.monotonic() + timeout_s
        while (now := time.monotonic()) < deadline:
            self._whole.extend(self.frames() or [Frame(now, "")])
            while self._whole:
                yield self._whole.popleft()

    def until_printed(self, text: bytes, timeout_s: float) -> float | None:
        """When a program that knows no frames has printed a text; None when it did not."""
        deadline, tail = time.monotonic() + timeout_s, b""
        while time.monotonic() < deadline:
            tail = tail[-4096:] + self._read(0.05)
            if text in _ESCAPE.sub(b"", tail):
                return time.monotonic()
        return None

    def close(self) -> None:
        """Ask it to quit; end it when it does not."""
        self.type("q")
        deadline = time.monotonic() + 10
        while os.waitpid(self.pid, os.WNOHANG)[0] == 0:
            self._read(0.05)
            if time.monotonic() > deadline:
                os.kill(self.pid, signal.SIGKILL)  # our own child, not yet reaped: the pid is its
                os.waitpid(self.pid, 0)
                break
        os.close(self._fd)

    def _read(self, wait_s: float) -> bytes:
        if not select.select([self._fd], [], [], wait_s)[0]:
            return b""
        try:
            return os.read(self._fd, 1 << 20)
        except OSError:  # the program has closed the other end
            return b""


def _text(data: bytes) -> str:
    return _ESCAPE.sub(b"", _MOVE.sub(b"\n", data)).decode(errors="replace")


def tree(pid: int) -> list[int]:
    """A process and all below it."""
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        below = [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return []
    return [pid, *(each for child in below for each in tree(child))]


def is_running(pid: int, words: bytes) -> bool:
    """True when a process was started with these words."""
    try:
        return words in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def rss(pid: int) -> int:
    """Resident bytes of a process; 0 when it is gone."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except OSError:
        return 0


def cpu_s(pids: Sequence[int]) -> float:
    """Seconds of CPU time that processes have used."""
    used = 0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        used += int(fields[11]) + int(fields[12])
    return used / _TICKS


def cores() -> list[tuple[int, int]]:
    """Of each core, ticks spent busy and all ticks."""
    found = []
    for line in Path("/proc/stat").read_text().splitlines():
        if re.match(r"cpu\d", line):
            ticks = [int(word) for word in line.split()[1:9]]
            found.append((sum(ticks) - ticks[3] - ticks[4], sum(ticks)))
    return found
