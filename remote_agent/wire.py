"""The wire: lines in, lines out. One writer thread; control goes before bulk; the latest sample replaces an older one.

Back-pressure: `send_bulk` blocks while BULK_LIMIT batches wait, so a tailer stops reading and the file is the buffer.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Any, BinaryIO, Deque, Dict, Iterator, List, Optional

from remote_agent.protocol import MAX_LINE, Hello, ProtocolError, decode_line, encode_answer, encode_line, to_wire

BULK_LIMIT = 4


class WireClosed(Exception):
    """The console is gone."""


class Wire:
    """Framing over two byte streams."""

    def __init__(self, reader: BinaryIO, writer: BinaryIO) -> None:
        self._reader = reader
        self._writer = writer
        self._change = threading.Condition()
        self._control: Deque[bytes] = deque()
        self._latest: Dict[str, bytes] = {}
        self._bulk: Deque[bytes] = deque()
        self._closed = False
        self._draining = False
        self._thread = threading.Thread(target=self._write_loop, name="wire", daemon=True)

    def send_hello(self, hello: Hello) -> None:
        self._writer.write(encode_line({"jsonrpc": "2.0", "method": "agent.hello", "params": to_wire(hello)}))
        self._thread.start()

    def messages(self) -> Iterator[Any]:
        """Yield each request as a dict, or the ProtocolError of a line that is none, until EOF."""
        while True:
            line = self._reader.readline(MAX_LINE + 1)
            if not line:
                return
            if not line.endswith(b"\n"):
                yield ProtocolError(f"a line without an end within {MAX_LINE} bytes")
                return
            try:
                yield decode_line(line)
            except ProtocolError as error:
                yield error

    def send_control(self, message: Dict[str, Any]) -> None:
        self._put(self._control, encode_answer(message))

    def send_latest(self, slot: str, method: str, params: Any) -> None:
        """Send a notification; one that still waits in the same slot is replaced."""
        line = _notification(method, params)
        with self._change:
            self._raise_if_closed()
            self._latest[slot] = line
            self._change.notify_all()

    def send_bulk(self, method: str, params: Any, give_up: threading.Event) -> bool:
        """Queue a batch; block while the queue is full. False when `give_up` was set first."""
        line = _notification(method, params)
        with self._change:
            while len(self._bulk) >= BULK_LIMIT and not self._closed and not give_up.is_set():
                self._change.wait(0.1)
            if give_up.is_set():
                return False
            self._raise_if_closed()
            self._bulk.append(line)
            self._change.notify_all()
        return True

    def send_after_bulk(self, message: Dict[str, Any]) -> None:
        """Send the end of a stream: it must not overtake the batches that wait."""
        self._put(self._bulk, encode_answer(message))

    def close(self) -> None:
        """Write out control messages that wait, then stop."""
        with self._change:
            self._draining = True
            self._change.notify_all()
        self._thread.join(2.0)

    def _put(self, queue: Deque[bytes], lines: List[bytes]) -> None:
        with self._change:
            self._raise_if_closed()
            queue.extend(lines)
            self._change.notify_all()

    def _raise_if_closed(self) -> None:
        if self._closed:
            raise WireClosed

    def _next(self) -> Optional[bytes]:
        with self._change:
            while True:
                if self._control:
                    return self._control.popleft()
                if self._draining:
                    return None
                if self._latest:
                    return self._latest.pop(next(iter(self._latest)))
                if self._bulk:
                    line = self._bulk.popleft()
                    self._change.notify_all()
                    return line
                self._change.wait()

    def _write_loop(self) -> None:
        try:
            while True:
                line = self._next()
                if line is None:
                    return
                _write_all(self._writer, line)
        except OSError:
            pass
        finally:
            with self._change:
                self._closed = True
                self._change.notify_all()


def _notification(method: str, params: Any) -> bytes:
    return encode_line({"jsonrpc": "2.0", "method": method, "params": to_wire(params)})


def _write_all(writer: BinaryIO, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[writer.write(view) :]
