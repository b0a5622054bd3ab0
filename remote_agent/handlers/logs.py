"""Follow a file by byte offset. The file is the buffer: while the wire is full nothing is read."""

from __future__ import annotations

import os
from typing import BinaryIO, Optional

from remote_agent.node import Node
from remote_agent.protocol import CHUNK, AgentError, LogBatch, LogReset, to_base64
from remote_agent.request import Request, method

POLL_S = 0.05


@method()
def follow(node: Node, request: Request) -> None:
    """Send `logs.batch` from `offset` on until cancelled; `logs.reset` when the file was cut or replaced.

    `inode` (0: any) is what a resuming console saw: another file there now means a reset to 0. An `offset` below zero
    counts from the end. With `until_eof` the call ends at the end of the file.
    """
    path = request.get("path", str)
    with _open(path) as file:
        _Tail(file, path, request).run()


def _open(path: str) -> BinaryIO:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise AgentError("not_found", f"no file {path}") from None
    except OSError as error:
        raise AgentError("permission", f"{path} cannot be read: {error.strerror}") from None
    if os.path.isdir(path):
        os.close(fd)
        raise AgentError("invalid", f"{path} is a folder")
    return os.fdopen(fd, "rb", buffering=0)


class _Tail:
    """One followed file."""

    def __init__(self, file: BinaryIO, path: str, request: Request) -> None:
        self._file = file
        self._path = path
        self._request = request
        self._until_eof = request.get("until_eof", bool, False)
        info = os.fstat(file.fileno())
        self._inode = info.st_ino
        wanted = request.get("offset", int, 0)
        self._offset = max(0, info.st_size + wanted) if wanted < 0 else wanted
        seen = request.get("inode", int, 0)
        if seen and seen != self._inode:
            self._reset("the file was replaced while nobody looked")

    def run(self) -> None:
        while not self._request.is_stopped:
            size = os.fstat(self._file.fileno()).st_size
            if size < self._offset:
                self._reset("the file was truncated")
            data = os.pread(self._file.fileno(), CHUNK, self._offset)
            if data:
                if not self._send(data, size):
                    return
                continue
            if self._replaced():
                continue
            if self._until_eof:
                return
            self._request.stop.wait(POLL_S)

    def _send(self, data: bytes, size: int) -> bool:
        batch = LogBatch(self._offset, len(data), to_base64(data), size, self._inode)
        self._offset += len(data)
        return self._request.send("logs.batch", batch)

    def _replaced(self) -> bool:
        """Go over to the file that has this name now, after the old one was read to its end."""
        try:
            now: Optional[os.stat_result] = os.stat(self._path)
        except OSError:
            now = None
        if now is None or now.st_ino == self._inode:
            return False
        try:
            fresh = _open(self._path)
        except AgentError:
            return False
        self._file.close()
        self._file = fresh
        self._inode = os.fstat(fresh.fileno()).st_ino
        self._reset("the file was replaced")
        return True

    def _reset(self, reason: str) -> None:
        self._offset = 0
        self._request.send("logs.reset", LogReset(reason, 0, self._inode))
