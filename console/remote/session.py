"""One connected life of an agent after another: calls, notifications, heartbeat, reconnect.

States: connecting → connected → heartbeat-missed → reconnecting → disconnected(reason). A change that was under way
when the link broke fails with LinkLost; what became of it is told only by reading again (in_flight.py). A reading is
asked for again.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from console.errors import ConsoleError, NodeLost, Unreachable
from console.remote import backoff, bootstrap, heartbeat
from console.remote.connection import Connection, LinkLost
from console.remote.transports.failures import NotLetIn

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator

    from console.remote.bootstrap import AgentSettings
    from console.remote.bundle import Bundle
    from console.remote.heartbeat import Moment
    from console.remote.rpc import Notification
    from console.remote.transport import Transport
    from remote_agent.protocol import Hello

__all__ = ["Link", "LinkLost", "Session"]

CALL_TIMEOUT_S = 60.0
RESUME_S = 60.0
"""How long a reading waits for a lost link to come back."""
READ_TRIES = 8
"""A reading that breaks the link each time is what breaks it."""


@dataclass(frozen=True, slots=True)
class Link:
    """The state of the connection: its name, why, and since when (monotonic seconds)."""

    name: str
    reason: str = ""
    since: float = 0.0


class Session:
    """A node's agent, over as many connections as it takes."""

    def __init__(
        self,
        transport: Transport,
        bundle: Bundle,
        settings: AgentSettings,
        *,
        reconnect: bool,
        clock: Callable[[], Moment] = heartbeat.now,
    ) -> None:
        self.transport = transport
        self.link = Link("connecting", since=time.monotonic())
        self.hello: Hello | None = None
        self.uploaded = False
        self.meanwhile = ""
        """What the newest hello says has changed on the node since the one before it; empty: nothing."""
        self.stderr: deque[str] = deque(maxlen=200)
        self._bundle = bundle
        self._settings = settings
        self._reconnect = reconnect
        self._clock = clock
        self._watchers: list[Callable[[Link], None]] = []
        self._connected = asyncio.Event()
        self._changed = asyncio.Event()
        """Set, and replaced, at each change of the link's state."""
        self._connection: Connection | None = None
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

    async def read(self, method: str, params: dict[str, Any], *, timeout: float = CALL_TIMEOUT_S) -> Any:
        """Ask for what changes nothing: asked again when the link broke under it and comes back within RESUME_S.

        Raises AgentError, LinkLost, NodeLost.
        """
        for _ in range(READ_TRIES - 1):
            try:
                return await self.call(method, params, timeout=timeout)
            except LinkLost as lost:
                await self.resumed(lost)
        return await self.call(method, params, timeout=timeout)

    async def up(self) -> None:
        """Return at once where there is a link, else when it is back. Raises LinkLost when it does not come back."""
        try:
            self._require()
        except LinkLost as lost:
            await self.resumed(lost)

    async def resumed(self, lost: NodeLost) -> None:
        """Wait until the link is up again; raise `lost` where it does not come back within RESUME_S."""
        if not self._reconnect:
            raise lost
        try:
            async with asyncio.timeout(RESUME_S):
                await self.connected()
        except (TimeoutError, Unreachable):
            raise lost from None

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
            await self._changed.wait()

    def break_link(self) -> None:
        """Drop the connection as a broken network would, for tests and for the key that reconnects."""
        if self._connection:
            self._connection.abort("the link was dropped on request")

    def be_readonly(self, reason: str) -> None:
        """Have an agent that refuses every change for this reason, or without one a usual one: connect anew for it."""
        self._settings = replace(self._settings, readonly=reason)
        if self._connection:
            self._connection.abort("connecting anew, " + ("read-only" if reason else "with changes allowed"))

    @property
    def heard_at(self) -> float:
        """When the node was last heard, in monotonic seconds."""
        return self._connection.heard_at if self._connection else self.link.since

    def _require(self) -> Connection:
        if self._connection is None or self._connection.lost.is_set():
            why = self._connection.why if self._connection else ""
            raise LinkLost(f"not connected: {why or self.link.reason or self.link.name}")
        return self._connection

    def _set(self, name: str, reason: str = "") -> None:
        if (name, reason) == (self.link.name, self.link.reason):
            return
        self.link = Link(name, reason, time.monotonic())
        if name == "connected":
            self._connected.set()
        elif name != "heartbeat-missed":
            self._connected.clear()
        self._changed.set()
        self._changed = asyncio.Event()
        for watcher in self._watchers:
            watcher(self.link)

    async def _connect(self) -> None:
        await self.transport.connect()
        started = await bootstrap.start(self.transport, self._bundle, self._settings)
        self.meanwhile = _meanwhile(self.hello, started.hello)
        self.hello = started.hello
        self.uploaded = started.uploaded
        self._connection = Connection(started, self.stderr, self._connected.clear)
        self._set("connected")

    async def _keep(self) -> None:
        """Watch the connection; replace it when it breaks."""
        waits = backoff.waits(random.random)
        while not self._closing:
            connection, since = self._connection, self._clock().monotonic
            assert connection is not None
            await self._watch(connection)
            await connection.close()
            if not self._reconnect:
                self._set("disconnected", connection.why)
                return
            if self._clock().monotonic - since >= backoff.STEADY_S:
                waits = backoff.waits(random.random)
            self._set("reconnecting", connection.why)
            if not await self._connect_again(waits):
                return

    async def _watch(self, connection: Connection) -> None:
        """Return when the connection is lost."""
        beat, next_s = heartbeat.Heartbeat(self._clock()), heartbeat.HEARTBEAT_S
        while not connection.lost.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(next_s):
                    await connection.lost.wait()
            found = beat.look(self._clock(), connection.heard_at)
            next_s = found.next_s
            if connection.lost.is_set():
                return
            if found.state == "lost":
                connection.abort(found.why)
                return
            self._set(found.state, found.why)
            connection.ping()

    async def _connect_again(self, waits: Iterator[float]) -> bool:
        """Try until there is a connection; False when asking again would not change the answer."""
        for wait_s in waits:
            await asyncio.sleep(wait_s)
            try:
                await self.transport.close()
                await self._connect()
            except NotLetIn as error:
                # A node that is asked every few seconds by somebody without a key bans the address.
                self._set("disconnected", str(error))
                return False
            except (ConsoleError, OSError) as error:
                self._set("reconnecting", str(error))
            else:
                return True
        return False


def _meanwhile(before: Hello | None, after: Hello) -> str:
    """What two hellos of one node say of the time between them."""
    if before is None:
        return ""
    if before.machine_id != after.machine_id:
        return "another machine answers under this name: nothing that is shown of the first one holds here"
    if before.boot_id != after.boot_id:
        return "the node was restarted: what ran there has ended"
    return ""
