"""Owns one channel to an agent: reads it, matches replies to calls, hands notifications to their streams."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, Any

from console.errors import NodeLost
from console.remote.rpc import Garbage, Notification, Reply, Rpc

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import AsyncGenerator, Callable

    from console.remote.bootstrap import Started
    from console.remote.transport import Channel

READ_LIMIT = 256 * 1024
MAX_QUEUED = 256
"""Messages of a stream that nobody has dealt with yet: the agent waits for its window, WINDOW of them, long before."""
ACKNOWLEDGED_AT_ONCE = 8
"""Notifications of a stream: a packet for each would cost as much as what it acknowledges."""


class LinkLost(NodeLost):
    """The connection broke while a call was under way."""


class Connection:
    """One channel, from the agent's hello until it is lost."""

    def __init__(self, started: Started, stderr: deque[str], on_lost: Callable[[], None]) -> None:
        self.lost = asyncio.Event()
        self.why = ""
        self.heard_at = time.monotonic()
        self._channel: Channel = started.channel
        self._rpc = Rpc()
        self._calls: dict[int, asyncio.Future[Any]] = {}
        self._progress: dict[int, Callable[[dict[str, Any]], None]] = {}
        self._streams: dict[int, asyncio.Queue[Notification | None]] = {}
        self._writing = asyncio.Lock()
        self._stderr = stderr
        self._on_lost = on_lost
        self._tasks = [
            asyncio.create_task(self._read_loop(started.rest)),
            asyncio.create_task(self._stderr_loop()),
        ]

    async def call(self, method: str, params: dict[str, Any], progress: Callable[[dict[str, Any]], None] | None) -> Any:
        call_id, future = await self._send(method, params)
        if progress:
            self._progress[call_id] = progress
        try:
            return await future
        except asyncio.CancelledError:
            await self._cancel(call_id)
            raise
        finally:
            self._calls.pop(call_id, None)
            self._progress.pop(call_id, None)

    async def stream(self, method: str, params: dict[str, Any]) -> AsyncGenerator[Notification]:
        queue: asyncio.Queue[Notification | None] = asyncio.Queue()
        call_id, future = await self._send(method, params, queue)
        future.add_done_callback(lambda _future: queue.put_nowait(None))
        dealt_with = 0
        try:
            while not (future.done() and queue.empty()):
                notification = await queue.get()
                if notification is not None:
                    yield notification
                    dealt_with += 1
                if dealt_with == ACKNOWLEDGED_AT_ONCE:
                    dealt_with = 0
                    await self._acknowledge(call_id)
            future.result()
        finally:
            self._streams.pop(call_id, None)
            self._calls.pop(call_id, None)
            if not future.done():
                await self._cancel(call_id)
                future.cancel()

    def ping(self) -> None:
        """Ask for a sign of life; the answer itself does not matter."""
        _call_id, line = self._rpc.request("node.ping", {})
        task = asyncio.create_task(self._write(line))
        self._tasks.append(task)
        task.add_done_callback(self._tasks.remove)

    def abort(self, why: str) -> None:
        """The link is gone: fail what waits."""
        if self.lost.is_set():
            return
        self.why = why
        self.lost.set()
        self._on_lost()
        self._channel.close()
        for future in list(self._calls.values()):
            if not future.done():
                future.set_exception(LinkLost(f"the connection to the node was lost: {why}"))
                future.exception()  # a stream nobody reads any more must not warn

    async def close(self) -> None:
        self.abort("closed")
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _send(
        self, method: str, params: dict[str, Any], queue: asyncio.Queue[Notification | None] | None = None
    ) -> tuple[int, asyncio.Future[Any]]:
        call_id, line = self._rpc.request(method, params)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._calls[call_id] = future
        if queue:
            self._streams[call_id] = queue
        await self._write(line)
        return call_id, future

    async def _write(self, line: bytes) -> None:
        try:
            async with self._writing:
                await self._channel.write(line)
        except OSError as error:
            self.abort(str(error) or type(error).__name__)

    async def _acknowledge(self, call_id: int) -> None:
        """Open the agent's window again: without this it stops after WINDOW notifications, and the file waits."""
        if not self.lost.is_set():
            await self._write(self._rpc.acknowledge(call_id) * ACKNOWLEDGED_AT_ONCE)

    async def _cancel(self, call_id: int) -> None:
        if not self.lost.is_set():
            await self._write(self._rpc.cancel(call_id))

    async def _read_loop(self, data: bytes) -> None:
        why = "the agent ended"
        try:
            while True:
                for message in self._rpc.receive(data):
                    self._take_safely(message)
                data = await self._channel.read(READ_LIMIT)
                self.heard_at = time.monotonic()
                if not data:
                    break
        except OSError as error:
            why = str(error) or type(error).__name__
        self.abort(why)

    def _take_safely(self, message: Reply | Notification | Garbage) -> None:
        """A message whose parts are not what they should be must not end the reading of those that follow."""
        try:
            self._take(message)
        except (KeyError, TypeError, ValueError) as error:
            self._stderr.append(f"a message of another form: {str(error)[:200]}")

    def _take(self, message: Reply | Notification | Garbage) -> None:
        if isinstance(message, Reply):
            future = self._calls.get(message.call_id)
            if future and not future.done():
                if message.error:
                    future.set_exception(message.error)
                else:
                    future.set_result(message.result)
        elif isinstance(message, Notification):
            self._notify(message)
        else:
            self._stderr.append(f"not a message: {message.text}")

    def _notify(self, message: Notification) -> None:
        if message.method == "$/progress":
            progress = self._progress.get(message.params.get("id", -1))
            if progress:
                progress(message.params)
            return
        stream = str(message.params.get("stream", ""))
        queue = self._streams.get(int(stream)) if stream.isdigit() else None
        if queue is None:
            return
        if message.method == "telemetry.sample":
            while not queue.empty():  # only the newest counts
                queue.get_nowait()
        if queue.qsize() >= MAX_QUEUED:
            self.abort(f"the agent sent more than it may: {MAX_QUEUED} messages of a stream that waits")
            return
        queue.put_nowait(message)

    async def _stderr_loop(self) -> None:
        with contextlib.suppress(OSError):
            pending = b""
            while data := await self._channel.read_error(READ_LIMIT):
                *lines, pending = (pending + data)[-READ_LIMIT:].split(b"\n")
                self._stderr.extend(line.decode("utf-8", "replace")[:500] for line in lines)
