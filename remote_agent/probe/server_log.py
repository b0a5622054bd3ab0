"""Owns the probe's look at the server's log: how long it is, and whether a block found the KV cache pool full."""

from __future__ import annotations

import os
import stat
from typing import Optional

PIECE = 1024 * 1024

FULL_POOL = (b"KV cache pool is full", b"Decode out of memory happened")
"""SGLang 0.4.8 to 0.5.23; 0.4.6 and 0.4.7. Requests were put back and computed again: no rate of that block means
anything."""


class ServerLog:
    """A log by its path, which the console took from the server's run record.

    Links are followed: logs are often reached through one, and nothing of the file leaves this module but its length
    and one of FULL_POOL. A pipe or a device is not opened for good: reading it could wait, or take from others.
    """

    def __init__(self, path: Optional[str]) -> None:
        self._path = path

    def size(self) -> Optional[int]:
        """Return its length in bytes, None where it cannot be known."""
        try:
            info = os.stat(self._path) if self._path else None
        except OSError:
            return None
        return info.st_size if info and stat.S_ISREG(info.st_mode) else None

    def full_pool(self, start: Optional[int], end: Optional[int]) -> Optional[str]:
        """Return the marker of a full pool that was written from `start` to `end`, None where there is none."""
        if self._path is None or start is None or end is None:
            return None
        try:
            fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
        except OSError:
            return None
        try:
            return _search(fd, start, end) if stat.S_ISREG(os.fstat(fd).st_mode) else None
        except OSError:
            return None
        finally:
            os.close(fd)


def _search(fd: int, start: int, end: int) -> Optional[str]:
    overlap = b""
    longest = max(map(len, FULL_POOL))
    while start < end:
        piece = os.pread(fd, min(PIECE, end - start), start)
        if not piece:
            break
        start += len(piece)
        text = overlap + piece
        for marker in FULL_POOL:
            if marker in text:
                return marker.decode("ascii")
        overlap = text[-(longest - 1) :]
    return None
