"""From a node's session to events: connects, keeps reading, follows the log; survives every reconnect."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from console.actions import recover
from console.actions.judging import tp_size_of
from console.errors import ConsoleError
from console.logs.history import LogHistory
from console.state.events import (
    AgentGreeted,
    LinkChanged,
    LogFailed,
    LogFed,
    LogOpened,
    NodeNamed,
    Noticed,
    TelemetrySampled,
)
from console.tui import readings
from remote_agent.protocol import AgentError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from console.actions.node import Node
    from console.remote.agent import LogPart
    from console.remote.session import Link
    from console.tui.stream import EventStream
    from remote_agent.protocol import ServerRun

TELEMETRY_S = 1.0
INVENTORY_S = 2.0
RETRY_S = 1.0
FEED_BYTES = 16 * 1024
"""Log bytes taken in at once: some milliseconds of parsing, then the screen has its turn."""


class Bridge:
    """One node's life as events."""

    def __init__(self, node: Node, stream: EventStream) -> None:
        self._node = node
        self._stream = stream
        self._session = node.agent.session
        self._wanted = asyncio.Event()
        self._read = asyncio.Event()
        self._told = ""
        stream.put(NodeNamed(node.name, node.operator, node.simulated))
        self._session.watch(self._on_link)

    async def run(self) -> None:
        """Connect and read until cancelled. Raises Unreachable, AgentStartFailed when the first connect fails."""
        local = asyncio.create_task(self._read_local())
        try:
            await self._open()
        finally:
            await local
        async with asyncio.TaskGroup() as group:
            for work in (self._telemetry, self._inventory, self._log):
                group.create_task(self._keep(work))

    def reread(self) -> None:
        """Read the inventory now instead of at the next turn."""
        self._wanted.set()

    async def close(self) -> None:
        """Hang up. Servers and probes stay."""
        await self._session.close()
        self._node.journal.close()

    async def _read_local(self) -> None:
        """What needs no connection: profiles and stored runs."""
        await readings.profiles(self._node, self._stream)
        self._stream.flush()
        readings.runs(self._node, self._stream, self._stream.state.profiles)

    async def _open(self) -> None:
        self._stream.put(LinkChanged("connecting"))
        await self._session.open()
        await recover.on_connect(self._node, lambda line: self._stream.put(Noticed("warn", line)), change=True)

    def _on_link(self, link: Link) -> None:
        self._stream.put(LinkChanged(link.name, link.reason))
        if link.name == "connected" and self._session.hello:
            self._stream.put(AgentGreeted(self._session.hello))

    async def _keep(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do `work` again and again; what goes wrong is told once, and a lost link is waited for."""
        while True:
            try:
                await self._session.connected()
                await work()
            except (ConsoleError, AgentError) as error:
                self._tell(error.message)
                await asyncio.sleep(RETRY_S)

    def _tell(self, why: str) -> None:
        # Without a link the header says why; each call that fails then would only say it again.
        if self._session.link.name == "connected" and why != self._told:
            self._told = why
            self._stream.put(Noticed("warn", why))

    async def _telemetry(self) -> None:
        async with contextlib.aclosing(self._node.agent.telemetry(TELEMETRY_S)) as samples:
            async for sample in samples:
                self._stream.put(TelemetrySampled(sample))

    async def _inventory(self) -> None:
        self._wanted.clear()
        await readings.inventory(self._node, self._stream)
        self._stream.flush()
        self._read.set()
        self._read = asyncio.Event()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(INVENTORY_S):
                await self._wanted.wait()

    async def _log(self) -> None:
        """Follow the newest server of this operator until there is a newer one."""
        run = self._stream.state.servers.newest_own
        if run is None:
            await self._read.wait()
            return
        tasks = [asyncio.create_task(self._follow(run)), asyncio.create_task(self._superseded(run.run_id))]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _superseded(self, run_id: str) -> None:
        while (newest := self._stream.state.servers.newest_own) and newest.run_id == run_id:
            await self._read.wait()

    async def _follow(self, run: ServerRun) -> None:
        """Take in a log from its beginning; a file that cannot be read is tried again."""
        history = LogHistory(tp_size_of(run.record))
        self._stream.put(LogOpened(run.run_id, run.log_path, run.record, history))
        resume = ""
        while True:
            try:
                async with contextlib.aclosing(
                    self._node.agent.follow(run.log_path, run.log_offset, resume=resume)
                ) as parts:
                    async for part in parts:
                        resume = part.position or resume
                        await self._feed(run.run_id, history, part)
            except ConsoleError as error:
                self._stream.put(LogFailed(run.run_id, readings.told(error)))
            await asyncio.sleep(RETRY_S)

    async def _feed(self, run_id: str, history: LogHistory, part: LogPart) -> None:
        """Take a part in, piece by piece, giving way to the screen after each."""
        if part.reset:
            history.reset(part.offset, part.reset, part.lost)
        for start in range(0, max(1, len(part.data)), FEED_BYTES):
            piece = part.data[start : start + FEED_BYTES]
            history.feed(part.offset + start, piece)
            read_to = part.offset + start + len(piece)
            self._stream.put(LogFed(run_id, history.version, read_to, part.size))
            await asyncio.sleep(0)
