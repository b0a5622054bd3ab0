"""Owns the sockets of a probe: requests side by side, followed by one loop, each part timed where it is read.

One thread for all: at 64 streams the threads' own switching cost more than the reading.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import time
from typing import Callable, Generic, Iterator, Optional, Protocol, Set, TypeVar

from remote_agent.probe.http1 import Response
from remote_agent.protocol.probe.spec import LOOPBACK
from remote_agent.protocol.probe.stream import StreamError

READ = 64 * 1024
TICK_S = 0.1
"""The caller is back this often: a signal is acted on within it."""


class Answer(Protocol):
    """What an exchange is for; told of its course. Times on the monotonic clock."""

    def begun(self, wall: float, now: float) -> None:
        """The first byte of the request is about to be sent."""

    def take(self, status: int, part: bytes, now: float) -> bool:
        """A part of the body has come, maybe empty; return whether that is all. Raises StreamError."""

    def end(self, status: Optional[int], error: Optional[str], now: float) -> None:
        """It is over; `error` says what went wrong with the connection, as "kind: message"."""


A = TypeVar("A", bound=Answer)


class Exchange(Generic[A]):
    """One request and its answer, over a connection of its own. Failures are the answer's to know."""

    def __init__(self, port: int, request: bytes, answer: A, timeout_s: float) -> None:
        self.answer = answer
        self.is_over = False
        self._port = port
        self._unsent = memoryview(request)
        self._timeout_s = timeout_s
        self._deadline = 0.0
        self._response = Response()
        self._sock: Optional[socket.socket] = None
        self._is_connected = False

    def begin(self, selector: selectors.BaseSelector) -> None:
        """Connect, and ask `selector` to tell of what comes. What fails at once is seen by `expire`."""
        self._deadline = time.perf_counter() + self._timeout_s
        try:
            self._sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            self._sock.setblocking(False)
            self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._sock.connect_ex((LOOPBACK, self._port))  # its outcome is asked for once the socket is writable
            selector.register(self._sock, selectors.EVENT_READ | selectors.EVENT_WRITE, self)
        except OSError as error:
            self._end(_connection_error(error))

    def step(self, selector: selectors.BaseSelector, mask: int) -> bool:
        """Go on: the socket is readable or writable. Return whether it is over."""
        try:
            if mask & selectors.EVENT_WRITE:
                self._send(selector)
            if mask & selectors.EVENT_READ:
                self._receive()
        except StreamError as error:
            self._end(f"{error.kind}: {error.message}")
        except OSError as error:
            self._end(_connection_error(error))
        return self.is_over

    def expire(self, now: float) -> bool:
        """End it if its time is over. Return whether it is over."""
        if not self.is_over and now >= self._deadline:
            self._end(f"timeout: no end within {self._timeout_s:g} s")
        return self.is_over

    def close(self, selector: selectors.BaseSelector) -> None:
        """Close the connection."""
        if self._sock is not None:
            with contextlib.suppress(KeyError):
                selector.unregister(self._sock)
            self._sock.close()

    def _send(self, selector: selectors.BaseSelector) -> None:
        sock = self._socket()
        if not self._is_connected:
            code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if code:
                raise OSError(code, os.strerror(code))
            self._is_connected = True
            self.answer.begun(time.time(), time.perf_counter())
        self._unsent = self._unsent[sock.send(self._unsent) :]
        if not self._unsent:
            selector.modify(sock, selectors.EVENT_READ, self)

    def _receive(self) -> None:
        data = self._socket().recv(READ)
        now = time.perf_counter()
        response = self._response
        if not data:
            response.close()
        part = response.feed(data)
        is_all = response.status is not None and self.answer.take(response.status, part, now)
        if is_all or response.is_done:
            self._end(None, now)

    def _socket(self) -> socket.socket:
        assert self._sock is not None, "it has begun"
        return self._sock

    def _end(self, error: Optional[str], now: Optional[float] = None) -> None:
        self.is_over = True
        self.answer.end(self._response.status, error, time.perf_counter() if now is None else now)


def run_exchanges(
    exchanges: Iterator[Exchange[A]], at_a_time: int, on_end: Callable[[Exchange[A]], None], tick: Callable[[], None]
) -> None:
    """Carry out `exchanges`, at most `at_a_time` together, each next one as soon as one ends.

    `on_end` is called before the next one begins, `tick` after, and at least every TICK_S; what they raise ends the
    run. All sockets are closed at the end.
    """
    running: Set[Exchange[A]] = set()
    look_at = 0.0
    with selectors.DefaultSelector() as selector:
        try:
            _begin(exchanges, at_a_time, running, selector)
            while running:
                ready = [key.data for key, mask in selector.select(TICK_S) if key.data.step(selector, mask)]
                if time.perf_counter() >= look_at:
                    look_at = time.perf_counter() + TICK_S
                    ready = [exchange for exchange in running if exchange.expire(time.perf_counter())]
                for exchange in ready:
                    running.discard(exchange)
                    exchange.close(selector)
                    on_end(exchange)
                _begin(exchanges, at_a_time, running, selector)
                tick()
        finally:
            for exchange in running:
                exchange.close(selector)


def _begin(
    exchanges: Iterator[Exchange[A]], at_a_time: int, running: Set[Exchange[A]], selector: selectors.BaseSelector
) -> None:
    while len(running) < at_a_time:
        exchange = next(exchanges, None)
        if exchange is None:
            return
        running.add(exchange)
        exchange.begin(selector)


def _connection_error(error: OSError) -> str:
    return f"connection: {type(error).__name__}: {error}"
