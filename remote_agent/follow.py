"""Follow one log by byte offset over renaming, cutting and replacing. The file is the buffer: nothing is read ahead."""

from __future__ import annotations

import contextlib
import errno
import os
from typing import Optional

from remote_agent.protocol import CHUNK, AgentError, LogBatch, LogReset, to_base64
from remote_agent.request import Request
from remote_agent.rotation import OVERLAP, LogFile, Place, after, digest_of, find

POLL_S = 0.05
TRIES = 20
"""Reads that may fail, POLL_S apart, before the next file is gone over to, if there is one."""


class Follower:
    """Sends each byte of a log once: first the rest of a file that was renamed or copied, then the next one from 0.

    What cannot be read any more is told with its size. Each read takes the last bytes of the one before along: other
    bytes there mean that the file was cut and has grown again.
    """

    def __init__(self, path: str, request: Request) -> None:
        self._path = path
        self._request = request
        self._until_eof = request.get("until_eof", bool, False)
        self._file: Optional[LogFile] = None
        self._offset = 0
        self._first = self._before = b""
        self._size = self._mtime_ns = 0
        self._failures = 0

    def run(self) -> None:
        """Raises AgentError: not_found (only when it is to end at the end), permission, invalid."""
        resume = self._request.get("resume", str, "")
        try:
            if resume:
                self._resume(Place.from_text(resume))
            else:
                self._begin(self._request.get("offset", int, 0))
            while self._file and not self._request.is_stopped and self._try_step():
                pass
        finally:
            self._take(None)

    def _begin(self, wanted: int) -> None:
        file = self._wait()
        if file:
            self._take(file, max(0, os.fstat(file.fd).st_size + wanted) if wanted < 0 else wanted)
            if self._size == self._offset:
                self._send(b"")  # nothing to read yet: this tells the place, for a link that breaks now

    def _resume(self, place: Place) -> None:
        file = find(self._path, place)
        if file and place.offset == 0 and file.is_at(self._path):
            # Nothing was read by which it could be known: what was copied and cut meanwhile comes first.
            file.close()
            file = after(self._path, place)
        if file:
            self._take(file, place.offset)
        else:
            self._lose(place)

    def _wait(self) -> Optional[LogFile]:
        """The log as soon as there is one; None when nobody wants it any more."""
        is_told = False
        while not self._request.is_stopped:
            try:
                return LogFile(self._path)
            except FileNotFoundError:
                if self._until_eof:
                    raise AgentError("not_found", f"no file {self._path}") from None
            if not is_told:
                is_told = True
                self._tell(LogReset(f"there is no file {self._path} yet", 0, 0, self._path, ""))
            self._request.stop.wait(POLL_S)
        return None

    def _try_step(self) -> bool:
        try:
            return self._step()
        except OSError as error:  # a stale handle, or a disk that fails: the name may lead to it again
            self._failures += 1
            if self._until_eof and self._failures > TRIES:
                raise AgentError("permission", f"{self._path} cannot be read: {error.strerror}") from None
            if self._failures == 1:
                self._announce(f"the file cannot be read, tried again: {error.strerror}", 0)
            self._request.stop.wait(POLL_S)
            with contextlib.suppress(OSError):
                self._reopen(is_gone=error.errno == errno.ESTALE or self._failures > TRIES)
            return True

    def _step(self) -> bool:
        """Read once. False: it is over."""
        data = self._read()
        if data is None:
            self._replace()
            return True
        if data:
            return self._send(data)
        if self._go_on():
            return True
        if self._until_eof:
            return False
        self._request.stop.wait(POLL_S)
        return True

    def _read(self) -> Optional[bytes]:
        """The next bytes; None when those before them are others than they were."""
        file, known = self._file, len(self._before)
        assert file is not None
        info = os.fstat(file.fd)
        block = os.pread(file.fd, CHUNK + known, self._offset - known)
        if info.st_size < max(self._offset, self._size) or block[:known] != self._before:
            return None
        self._size, self._mtime_ns, self._failures = info.st_size, info.st_mtime_ns, 0
        data = block[known:]
        if data[:1] == b"\0":
            begin = min(file.data_from(self._offset), info.st_size)
            if begin > self._offset:
                hole = begin - self._offset
                self._go_to(begin)
                self._announce(f"a hole of {hole:,} bytes, never written", 0)
                return self._read()
        return data

    def _send(self, data: bytes) -> bool:
        begin = self._offset
        self._offset += len(data)
        self._before = (self._before + data)[-OVERLAP:]
        if len(self._first) < OVERLAP:
            self._first = (self._first + data)[:OVERLAP]
        batch = LogBatch(begin, len(data), to_base64(data), self._size, self._place().to_text())
        return self._request.send("logs.batch", batch)

    def _go_on(self) -> bool:
        """At the end of a file that is not the log any more: go over to the one that was written after it."""
        assert self._file is not None
        if self._file.is_at(self._path):
            return False
        try:
            file = after(self._path, self._place())
        except AgentError:
            return False
        if file is None:
            return False
        # A writer that was started with `> log` goes on in the renamed file: that one counts until the new one is used.
        if os.fstat(file.fd).st_size == 0 and file.is_at(self._path) and not self._until_eof:
            file.close()
            return False
        if self._read():
            file.close()  # it grew between the last read and the look at the new one
            return True
        name, size = self._file.path, self._size
        self._take(file)
        self._announce(f"the file was replaced: the old one ({name}, {size:,} bytes) was read to its end", 0)
        return True

    def _reopen(self, *, is_gone: bool) -> None:
        """Open it again; where it `is_gone` and its name leads to another file, go over to that one."""
        assert self._file is not None
        place = self._place()
        file = find(self._path, place)
        if file:
            self._take(file, self._offset)
        elif is_gone and os.path.exists(self._path) and not self._file.is_at(self._path):
            self._lose(place)

    def _replace(self) -> None:
        """The file was cut: a copy of it may have been kept."""
        place = self._place()
        file = find(self._path, place)
        if file is None:
            self._lose(place)
            return
        self._take(file, place.offset)
        if self._size < place.size:
            told = f"the file was truncated: {place.size:,} bytes before; {self._size:,} are left"
            self._announce(told, place.size - self._size)

    def _lose(self, place: Place) -> None:
        """Begin with the next file; what was in the old one and had not been read is lost."""
        file = after(self._path, place) or self._wait()
        if file is None:
            return
        is_cut = (file.device, file.inode) == (place.device, place.inode)
        self._take(file)
        what = "truncated" if is_cut else "replaced"
        reason = f"the file was {what}: {place.size:,} bytes, of which {place.offset:,} were read; now {self._size:,}"
        self._announce(reason, max(0, place.size - place.offset))

    def _take(self, file: Optional[LogFile], offset: int = 0) -> None:
        """Go over to a file. Raises OSError, and then nothing has changed."""
        if file:
            try:
                info, known = os.fstat(file.fd), file.known_by(offset)
            except OSError:
                file.close()
                raise
            self._size, self._mtime_ns = info.st_size, info.st_mtime_ns
            self._offset, (self._first, self._before) = offset, known
        if self._file:
            self._file.close()
        self._file = file

    def _go_to(self, offset: int) -> None:
        assert self._file is not None
        self._offset = offset
        self._first, self._before = self._file.known_by(offset)

    def _place(self) -> Place:
        file = self._file
        assert file is not None
        digest = digest_of(self._first, self._before)
        return Place(self._offset, self._size, self._mtime_ns, file.device, file.inode, digest)

    def _announce(self, reason: str, lost: int) -> None:
        assert self._file is not None
        self._tell(LogReset(reason, self._offset, lost, self._file.path, self._place().to_text()))

    def _tell(self, reset: LogReset) -> None:
        self._request.send("logs.reset", reset)
