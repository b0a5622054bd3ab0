"""From a node's session to events: connects, keeps reading, follows the log; survives every reconnect."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from console import paths
from console.actions import read_log, recover
from console.actions.read_log import LogSource
from console.config import did_you_mean
from console.errors import ConsoleError, Refused, Unreachable
from console.logs.marks import Marks
from console.logs.window import LineWindow
from console.node.verdict import is_used
from console.remote import heartbeat
from console.state.events import (
    AgentGreeted,
    LinkChanged,
    LinkSilent,
    LogFailed,
    LogOpened,
    NodeNamed,
    Noticed,
    TelemetrySampled,
)
from console.tui import readings
from console.tui.log_feed import LogFeed
from remote_agent.protocol import AgentError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from console.actions.node import Node
    from console.remote.session import Link
    from console.tui.log_pick import LogPick
    from console.tui.stream import EventStream
    from remote_agent.protocol import Hello, ServerRun, TelemetrySample

TELEMETRY_S = 1.0
RETRY_S = 1.0
AGE_S = 1.0


class Bridge:
    """One node's life as events."""

    def __init__(self, node: Node, stream: EventStream, picked: LogPick) -> None:
        self._node = node
        self._stream = stream
        self._session = node.agent.session
        self._wanted = asyncio.Event()
        self._reading = asyncio.Lock()
        self._read = asyncio.Event()
        self._greeted: Hello | None = None
        self._came = asyncio.Event()
        self._told = ""
        self._used: list[bool | None] = []
        self._picked = picked
        self._feed: LogFeed | None = None
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
            group.create_task(self._age())
            for work in (self._recover, self._telemetry, self._inventory, self._log):
                group.create_task(self._keep(work))

    def reread(self) -> None:
        """Read the inventory now instead of at the next turn."""
        self._wanted.set()

    async def read_node(self) -> None:
        """Read the inventory, begun now: never beside another reading, which would then be told after a newer one."""
        async with self._reading:
            await readings.inventory(self._node, self._stream)

    def open_log(self, picked: LogPick) -> None:
        """Follow a log of the node from now on, or as soon as there is a link."""
        self._picked = picked
        self._read.set()
        self._read = asyncio.Event()

    async def close(self) -> None:
        """Hang up. Servers and probes stay."""
        if self._feed:
            await self._feed.close()
        await self._session.close()
        self._node.journal.close()

    async def _read_local(self) -> None:
        """What needs no connection: profiles and stored runs."""
        await readings.profiles(self._node, self._stream)
        self._stream.flush()
        readings.runs(self._node, self._stream, self._stream.state.profiles)

    async def _open(self) -> None:
        self._stream.put(LinkChanged("connecting"))
        try:
            await self._session.open()
        except Unreachable as error:
            did_you_mean(error, self._node.name, paths.locate().nodes_file)
            raise
        await self._finish_changes()

    def _on_link(self, link: Link) -> None:
        self._stream.put(LinkChanged(link.name, link.reason))
        hello = self._session.hello
        if link.name == "connected" and hello and hello != self._greeted:
            self._greeted = hello
            self._stream.put(AgentGreeted(hello))
            if self._session.meanwhile:
                self._stream.put(Noticed("warn", self._session.meanwhile))
            self._came.set()

    async def _recover(self) -> None:
        """After each reconnect, as after the first connect: deal with what was cut short."""
        await self._came.wait()
        self._came.clear()
        await self._finish_changes()

    async def _finish_changes(self) -> None:
        self._came.clear()
        change = not self._stream.state.node.readonly
        await recover.on_connect(self._node, lambda line: self._stream.put(Noticed("warn", line)), change=change)

    async def _age(self) -> None:
        """Tell how old what is shown is, each second that the node is not heard; sleep of this machine counts."""
        before, slept_s = heartbeat.now(), 0.0
        while True:
            await asyncio.sleep(AGE_S)
            at = heartbeat.now()
            slept_s += max(0.0, (at.wall - before.wall) - (at.monotonic - before.monotonic))
            before = at
            if self._session.link.name == "connected":
                slept_s = 0.0
            elif self._session.hello:
                self._stream.put(LinkSilent(round(at.monotonic - self._session.heard_at + slept_s)))

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
                self._watch_use(sample)

    def _watch_use(self, sample: TelemetrySample) -> None:
        """Who holds a GPU is read as soon as one begins or ceases to be used, not at the next turn."""
        used = [is_used(gpu) for gpu in sample.gpus]
        if used != self._used:
            self._used = used
            self.reread()

    async def _inventory(self) -> None:
        self._wanted.clear()
        await self.read_node()
        self._stream.flush()
        self._read.set()
        self._read = asyncio.Event()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._stream.state.gpus.every_s):
                await self._wanted.wait()

    async def _log(self) -> None:
        """Follow the log that was picked, else the newest server of this operator, until another is meant."""
        try:
            source = await self._meant()
        except Refused as error:
            self._show_none(error)
            source = None
        if source is None:
            await self._read.wait()
            return
        self._feed = LogFeed(self._node, self._stream, source)
        tasks = [asyncio.create_task(self._feed.run()), asyncio.create_task(self._superseded(source))]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _superseded(self, source: LogSource) -> None:
        while await self._is_meant(source):
            await self._read.wait()

    async def _is_meant(self, source: LogSource) -> bool:
        try:
            meant = await self._meant()
        except Refused:
            return False
        return meant is not None and (meant.path, meant.run_id) == (source.path, source.run_id)

    async def _meant(self) -> LogSource | None:
        """Raises Refused where what the server that is meant wrote is not there any more."""
        run, path = self._meant_run(), self._picked.path
        if run:
            return await read_log.of_run(self._node, run)
        return LogSource(path, 0, {}) if path else None

    def _meant_run(self) -> ServerRun | None:
        servers, picked = self._stream.state.servers, self._picked
        run = next((run for run in servers.runs if run.run_id == picked.run_id), None) if picked.run_id else None
        return run if run or picked.path else servers.newest_own

    def _show_none(self, why: Refused) -> None:
        """No line of any other server stands for those that are not there any more."""
        run, log = self._meant_run(), self._stream.state.log
        if run and (log.run_id, log.problem) != (run.run_id, readings.told(why)):
            self._stream.put(LogOpened(run.run_id, run.log_path, dict(run.record), LineWindow(), Marks()))
            self._stream.put(LogFailed(run.run_id, readings.told(why)))
