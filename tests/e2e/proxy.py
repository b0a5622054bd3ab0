"""A network between a console and a real sshd: it cuts, swallows, delays and stalls when a test says so.

A thread of its own carries it, so that a test may wait for a process meanwhile.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.e2e.sshd import Sshd

PART = 65536
STALL_S = 0.4
"""What a lost packet costs, about: the sender's first retransmission."""


@dataclass(slots=True)
class Line:
    """One connection through the proxy."""

    near: asyncio.StreamWriter
    far: asyncio.StreamWriter
    swallowed: bool = False
    """Nothing passes any more, in either direction, and neither end is told."""


class Proxy:
    """Listens on a port of loopback and passes on to `to`, until `stop`."""

    def __init__(self, to: int, *, round_trip_s: float = 0.0, stalls: float = 0.0, seed: int = 0) -> None:
        self.passed = 0
        """Bytes that went through, both ways."""
        self.port = 0
        self._to = to
        self._delay_s = round_trip_s / 2
        self._stalls = stalls
        self._random = random.Random(seed)
        self._lines: list[Line] = []
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._ended: asyncio.Event
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),), daemon=True)
        self._thread.start()
        self._ready.wait(10)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(10)
        self._loop.close()

    def cut(self) -> int:
        """Break every connection at once, told to both ends; returns how many there were."""
        return asyncio.run_coroutine_threadsafe(self._cut(), self._loop).result(10)

    def swallow(self) -> int:
        """Let every connection of now die without a word; new ones pass. Returns how many there were."""
        living = [line for line in self._lines if not line.swallowed]
        for line in living:
            line.swallowed = True
        return len(living)

    async def _serve(self) -> None:
        self._ended = asyncio.Event()
        async with await asyncio.start_server(self._accept, "127.0.0.1", 0) as server:
            self.port = server.sockets[0].getsockname()[1]
            self._ready.set()
            await self._ended.wait()
            await self._cut()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _cut(self) -> int:
        lines, self._lines = self._lines, []
        for line in lines:
            line.near.transport.abort()
            line.far.transport.abort()
        return len(lines)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._to)
        except OSError:
            writer.transport.abort()
            return
        line = Line(writer, far_writer)
        self._lines.append(line)
        with contextlib.suppress(asyncio.CancelledError):  # at the end: asyncio would log it
            await asyncio.gather(self._pass(line, reader, far_writer), self._pass(line, far_reader, writer))

    async def _pass(self, line: Line, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Each part is due a while after it came: the delay is latency, not a lower rate."""
        parts: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        sending = asyncio.create_task(self._send(line, parts, writer))
        with contextlib.suppress(OSError):
            while data := await reader.read(PART):
                held_s = STALL_S if self._random.random() < self._stalls else 0.0
                parts.put_nowait((time.monotonic() + self._delay_s + held_s, data))
        parts.put_nowait((0.0, b""))
        await sending

    async def _send(self, line: Line, parts: asyncio.Queue[tuple[float, bytes]], writer: asyncio.StreamWriter) -> None:
        while True:
            due, data = await parts.get()
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            if line.swallowed:
                if not data:
                    return
                continue
            if not data:
                writer.close()
                return
            self.passed += len(data)
            writer.write(data)
            with contextlib.suppress(OSError):
                await writer.drain()


def between(sshd: Sshd, name: str, **weather: float) -> Proxy:
    """A proxy that the user's ssh_config leads through to the server."""
    proxy = Proxy(sshd.port, **weather)  # type: ignore[arg-type]
    sshd.configure(f"Host {name}", f"  Port {proxy.port}")
    known = sshd.ssh / "known_hosts"
    known.write_text(known.read_text() + known.read_text().replace(f":{sshd.port} ", f":{proxy.port} "))
    return proxy
