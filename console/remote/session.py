"""One connected life of an agent after another: calls, notifications, heartbeat, reconnect.

States: connecting → connected → heartbeat-missed → reconnecting → disconnected(reason). A call that was under way when
the link broke fails with LinkLost; what became of it on the node is told only by reading again.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from console.errors import ConsoleError, NodeLost, Unreachable
from console.remote import bootstrap
from console.remote.rpc import Garbage, Notification, Reply, Rpc

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from console.remote.bootstrap import AgentSettings, Started
    from console.remote.bundle import Bundle
    from console.remote.transport import Channel, Transport
    from remote_agent.protocol import Hello

CALL_TIMEOUT_S = 60.0
HEARTBEAT_S = 5.0
LOST_AFTER_S = 20.0
BACKOFF_S = (0.2, 0.5, 1.0, 2.0, 5.0)
READ_LIMIT = 256 * 1024


class LinkLost(NodeLost):
    """The connection broke while a call was under way."""


@dataclass(frozen=True, slots=True)
class Link:
    """The state of the connection: its name, why, and since when (monotonic seconds)."""

    name: str
    reason: str = ""
    since: float = 0.0


class Session:
    """A node's agent, over as many connections as it takes."""

    def __init__(self, transport: Transport, bundle: Bundle, settings: AgentSettings, *, reconnect: bool) -> None:
        self.transport = transport
        self.link = Link("connecting", since=time.monotonic())
        self.hello: Hello | None = None
        self.uploaded = False
        self.stderr: deque[str] = deque(maxlen=200)
        self._bundle = bundle
        self._settings = settings
        self._reconnect = reconnect
        self._watchers: list[Callable[[Link], None]] = []
        self._connected = asyncio.Event()
        self._connection: _Connection | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._closing = False

    def watch(self, watcher: Callable[[Link], None]) -> None:
        """Call `watcher` at each change of the link's state."""
        self._watchers.append(watcher)

    async def open(self) -> None:
        """Connect and start the agent. Raises Unreachable, AgentStartFailed."""
        await self._connect()
        self._keeper = asyncio.create_task(self._keep())

    async def close(self) -> None:
        """Hang up; the agent ends at EOF, servers and probes stay."""
        self._closing = True
        if self._keeper:
            self._keeper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._keeper
        if self._connection:
            await self._connection.close()
        await self.transport.close()
        self._set("disconnected", "closed")

    async def call(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        *,
        timeout: float = CALL_TIMEOUT_S,
        progress: Callable[[dict[str, Any]], None] | None = None,
    ) -> Any:
        """Ask the agent. Raises AgentError, LinkLost, or TimeoutError turned into NodeLost."""
        connection = self._require()
        try:
            async with asyncio.timeout(timeout):
                return await connection.call(method, params or {}, progress)
        except TimeoutError:
            raise NodeLost(f"{method} was not answered within {timeout:.0f} s", "Read the state again.") from None

    async def stream(self, method: str, params: dict[str, Any]) -> AsyncGenerator[Notification]:
        """Start a call that answers by notifications; ends when it does. Leaving the loop cancels it on the node."""
        async with contextlib.aclosing(self._require().stream(method, params)) as notifications:
            async for notification in notifications:
                yield notification

    async def connected(self) -> None:
        """Wait until the link is up. Raises Unreachable when it is given up."""
        while not self._connected.is_set():
            if self.link.name == "disconnected":
                raise Unreachable(f"not connected: {self.link.reason}")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.5):
                    await self._connected.wait()

    def break_link(self) -> None:
        """Drop the connection as a broken network would, for tests and for the key that reconnects."""
        if self._connection:
            self._connection.abort("the link was dropped on request")

    def _require(self) -> _Connection:
        if self._connection is None or self._connection.lost.is_set():
            raise LinkLost(f"not connected: {self.link.reason or self.link.name}")
        return self._connection

    def _set(self, name: str, reason: str = "") -> None:
        if (name, reason) == (self.link.name, self.link.reason):
            return
        self.link = Link(name, reason, time.monotonic())
        if name == "connected":
            self._connected.set()
        elif name != "heartbeat-missed":
            self._connected.clear()
        for watcher in self._watchers:
            watcher(self.link)

    async def _connect(self) -> None:
        await self.transport.connect()
        started = await bootstrap.start(self.transport, self._bundle, self._settings)
        self.hello = started.hello
        self.uploaded = started.uploaded
        self._connection = _Connection(started, self.stderr, self._connected.clear)
        self._set("connected")

    async def _keep(self) -> None:
        """Watch the connection; replace it when it breaks."""
        while not self._closing:
            connection = self._connection
            assert connection is not None
            await self._heartbeat(connection)
            await connection.close()
            if not self._reconnect:
                self._set("disconnected", connection.why)
                return
            self._set("reconnecting", connection.why)
            await self._connect_again()

    async def _heartbeat(self, connection: _Connection) -> None:
        """Return when the connection is lost."""
        while not connection.lost.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(HEARTBEAT_S):
                    await connection.lost.wait()
            silent_s = time.monotonic() - connection.heard_at
            if silent_s > LOST_AFTER_S:
                connection.abort(f"nothing heard for {silent_s:.0f} s")
            elif silent_s > 2 * HEARTBEAT_S:
                self._set("heartbeat-missed", f"nothing heard for {silent_s:.0f} s")
            elif self.link.name == "heartbeat-missed":
                self._set("connected")
            if not connection.lost.is_set() and silent_s > HEARTBEAT_S / 2:
                connection.ping()

    async def _connect_again(self) -> None:
        attempt = 0
        while True:
            await asyncio.sleep(BACKOFF_S[min(attempt, len(BACKOFF_S) - 1)])
            attempt += 1
            try:
                await self.transport.close()
                await self._connect()
            except (ConsoleError, OSError) as error:
                self._set("reconnecting", str(error))
            else:
                return


class _Connection:
    """One channel: reads it, matches replies to calls, hands notifications to their streams."""

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
        try:
            while not (future.done() and queue.empty()):
                notification = await queue.get()
                if notification is not None:
                    yield notification
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
            await self._write(self._rpc.acknowledge(call_id))

    async def _cancel(self, call_id: int) -> None:
        if not self.lost.is_set():
            await self._write(self._rpc.cancel(call_id))

    async def _read_loop(self, data: bytes) -> None:
        why = "the agent ended"
        try:
            while True:
                for message in self._rpc.receive(data):
                    self._take(message)
                data = await self._channel.read(READ_LIMIT)
                self.heard_at = time.monotonic()
                if not data:
                    break
        except OSError as error:
            why = str(error) or type(error).__name__
        self.abort(why)

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
        queue.put_nowait(message)

    async def _stderr_loop(self) -> None:
        with contextlib.suppress(OSError):
            pending = b""
            while data := await self._channel.read_error(READ_LIMIT):
                *lines, pending = (pending + data)[-READ_LIMIT:].split(b"\n")
                self._stderr.extend(line.decode("utf-8", "replace")[:500] for line in lines)
