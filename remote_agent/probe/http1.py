"""Owns the HTTP/1.1 of a probe: bytes of a request, and bytes of an answer to its status and body. Pure.

By hand, because the standard library's client blocks: one loop follows all streams of a probe, and reads what has come.
"""

from __future__ import annotations

import re
from typing import Dict, List, Optional

from remote_agent.protocol.probe.stream import StreamError

MAX_HEAD = 64 * 1024
MAX_SIZE_LINE = 1024
"""Of a chunk's size with its extensions, and of a trailer."""

_STATUS = re.compile(rb"HTTP/1\.[01] ([0-9]{3})(?: [^\r\n]*)?\r?\n")
_FIELD = re.compile(rb"^(content-length|transfer-encoding)[ \t]*:[ \t]*([^\r\n]*?)[ \t]*\r?$", re.I | re.M)
_BEFORE_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,15})\r\n")
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?\Z")


def post(path: str, body: bytes, headers: Dict[str, str]) -> bytes:
    """Return a whole POST request; the server is asked to close the connection after its answer."""
    lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {len(body)}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("ascii") + body


class Response:
    """An answer as it comes in; how its bytes are cut makes no difference."""

    def __init__(self) -> None:
        self.status: Optional[int] = None
        self.is_done = False
        """The answer is whole; what follows is not of it."""
        self._rest = b""
        self._left: Optional[int] = None
        """Bytes of the body, or of its chunk, that are still to come; None: until the connection is closed."""
        self._is_chunked = False
        self._is_after_chunk = False
        self._is_trailer = False

    def feed(self, data: bytes) -> bytes:
        """Take in what has come and return what of the body is in it. Raises StreamError(bad_http)."""
        whole = self._whole_chunk(data)
        if whole is not None:
            return whole
        data = self._rest + data if self._rest else data
        self._rest = b""
        if self.status is None:
            data = self._head(data)
            if self.status is None:
                return b""
        return self._chunks(data) if self._is_chunked else self._plain(data)

    def close(self) -> None:
        """The connection was closed by the server. Raises StreamError(connection) where the answer is not whole."""
        if not self.is_done and (self.status is None or self._is_chunked or self._left is not None):
            raise StreamError("connection", "it was closed inside the answer")
        self.is_done = True

    def _whole_chunk(self, data: bytes) -> Optional[bytes]:
        """One chunk and nothing else, as a server sends an event; to see it at once is half of the work."""
        if not self._is_chunked or self._left or self._is_after_chunk or self._is_trailer or self._rest:
            return None
        head = _BEFORE_CHUNK.match(data)
        size = int(head[1], 16) if head else 0
        is_one = head and size and len(data) == head.end() + size + 2 and data.endswith(b"\r\n")
        return data[head.end() : -2] if head and is_one else None

    def _head(self, data: bytes) -> bytes:
        end = re.search(rb"\r?\n\r?\n", data)
        if end is None or end.end() > MAX_HEAD:
            if len(data) > MAX_HEAD:
                raise StreamError("bad_http", f"the head of the answer is longer than {MAX_HEAD} bytes")
            self._rest = data
            return b""
        head = data[: end.end()]
        status = _STATUS.match(head)
        if status is None:
            raise StreamError("bad_http", "the answer does not begin as HTTP/1.1")
        fields = {match[1].lower(): match[2].lower() for match in _FIELD.finditer(head)}
        self._is_chunked = b"chunked" in fields.get(b"transfer-encoding", b"")
        length = fields.get(b"content-length")
        if self._is_chunked:
            self._left = 0
        elif length is not None:
            if not length.isdigit() or len(length) > 15:
                raise StreamError("bad_http", "content-length is not a number")
            self._left = int(length)
        self.status = int(status[1])
        return data[end.end() :]

    def _plain(self, data: bytes) -> bytes:
        if self._left is None:
            return data
        part = data[: self._left]
        self._left -= len(part)
        self.is_done = not self._left
        return part

    def _chunks(self, data: bytes) -> bytes:
        parts: List[bytes] = []
        place = 0
        while place < len(data) and not self.is_done:
            if self._left:
                part = data[place : place + self._left]
                parts.append(part)
                place += len(part)
                self._left -= len(part)
                self._is_after_chunk = not self._left
                continue
            end = data.find(b"\n", place)
            if end < 0 or end - place > MAX_SIZE_LINE:
                if len(data) - place > MAX_SIZE_LINE:
                    raise StreamError("bad_http", "a chunk has no size")
                self._rest = data[place:]
                break
            self._line(data[place:end].rstrip(b"\r"))
            place = end + 1
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _line(self, line: bytes) -> None:
        """Take in a line between chunks: the end of one, the size of the next, or a trailer."""
        if self._is_trailer:
            self.is_done = not line
            return
        if self._is_after_chunk:
            if line:
                raise StreamError("bad_http", "a chunk is longer than its size")
            self._is_after_chunk = False
            return
        size = _SIZE.match(line)
        if size is None:
            raise StreamError("bad_http", "a chunk has no size")
        self._left = int(size[1], 16)
        self._is_trailer = not self._left
