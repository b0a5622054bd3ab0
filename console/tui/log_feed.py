"""One followed log: its bytes to a window, from the tail on, and to the process that says what they mean."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from console.actions import log_record, read_log
from console.actions.judging import tp_size_of
from console.errors import ConsoleError, Refused
from console.logs.marks import Marks
from console.logs.search_pattern import parse
from console.logs.window import Line, LineWindow
from console.remote.session import LinkLost
from console.state.events import LogFailed, LogFed, LogJudged, LogOpened
from console.state.log_state import Hits
from console.tui import readings
from console.tui.folding import Folding, FoldStopped

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from console.actions.node import Node
    from console.actions.read_log import LogSource
    from console.logs.reading import LogReading
    from console.remote.agent import Agent
    from console.tui.stream import EventStream

RETRY_S = 1.0
WHOLE_BYTES = 8 * 1024 * 1024
"""A log up to this size is brought whole; of a longer one the end comes first, and the rest when it is looked at."""
TAIL_LINES = 2000


class LogFeed:
    """Keeps the window of a log up to date."""

    def __init__(self, node: Node, stream: EventStream, source: LogSource) -> None:
        self._node = node
        self._agent = node.agent
        self._stream = stream
        self._source = source
        self._name = source.run_id or source.path
        self._window = LineWindow()
        self._folding: Folding | None = None
        self._named: Mapping[str, object] = {}
        self._is_named = asyncio.Event()

    async def run(self) -> None:
        """Follow until cancelled; what goes wrong is told, and tried again."""
        door = _Door(self._agent, self._source.path, self._window)
        marks = Marks()
        record = self._source.record or {"unwired": log_record.NO_ARGS}
        self._stream.put(LogOpened(self._name, self._source.path, record, self._window, marks, door))
        async with asyncio.TaskGroup() as group:
            group.create_task(self._keep_following())
            group.create_task(self._keep_folding(marks))
            if not self._source.run_id:
                group.create_task(self._keep_judging())

    async def close(self) -> None:
        """End what was started for it; the loop may end after that."""
        if self._folding:
            await self._folding.close()

    async def _keep_following(self) -> None:
        resume = ""
        while True:
            try:
                resume = resume or await self._begin()
                async with contextlib.aclosing(
                    self._agent.follow(self._source.path, self._source.offset, resume=resume)
                ) as parts:
                    async for part in parts:
                        if part.reset and await self._is_taken():
                            return  # the name leads to another launch's lines; this log is opened where it is now
                        resume = part.position or resume
                        if part.reset:
                            self._begin_anew(part.reset, part.offset, part.lost)
                        self._window.append(part.offset, part.data)
                        self._stream.put(
                            LogFed(self._name, self._window.version, part.offset + len(part.data), part.size)
                        )
                        if self._folding:
                            self._folding.grown()
                        await self._stream.way()
            except ConsoleError as error:
                self._stream.put(LogFailed(self._name, readings.told(error)))
            await asyncio.sleep(RETRY_S)

    async def _is_taken(self) -> bool:
        source = self._source
        try:
            return bool(source.run_id) and await read_log.place(self._node, source.run_id, source.path) != source.path
        except Refused:
            return True

    async def _begin(self) -> str:
        """Return the position of the tail when the log is long, nothing when it is to be read from its beginning."""
        try:
            tail = await self._agent.tail(self._source.path, TAIL_LINES)
        except ConsoleError:
            return ""  # it may come yet: the follower waits for it, and says what else is wrong
        return tail.position if tail.size - self._source.offset > WHOLE_BYTES else ""

    def _begin_anew(self, why: str, offset: int, lost: int) -> None:
        self._window.begin_anew(why, offset, lost)
        if self._folding:
            self._folding.began_anew(offset, why, lost)

    async def _keep_folding(self, marks: Marks) -> None:
        while True:
            self._folding = Folding(self._name, self._window, marks, self._read_again, self._stream, self._heard)
            try:
                await self._folding.run(self._source.offset, tp_size_of(self._source.record))
            except FoldStopped as error:
                self._stream.put(LogFailed(self._name, readings.told(error)))
            marks.clear()
            await asyncio.sleep(RETRY_S)

    def _heard(self, reading: LogReading) -> None:
        if reading.named and reading.named != self._named:
            self._named = reading.named
            self._is_named.set()

    async def _keep_judging(self) -> None:
        """Read the checkpoints that the log names, each time that it names others."""
        while True:
            await self._is_named.wait()
            self._is_named.clear()
            try:
                record = await log_record.of_log(self._node, self._named)
            except LinkLost:
                await self._agent.session.connected()
                self._is_named.set()
            except ConsoleError as error:
                self._stream.put(LogJudged(self._name, {"unwired": readings.told(error)}))
            else:
                self._stream.put(LogJudged(self._name, record))

    async def _read_again(self, offset: int, length: int) -> bytes:
        while True:
            try:
                return await self._agent.read_range(self._source.path, offset, length)
            except LinkLost:
                await self._agent.session.connected()
            except ConsoleError:
                return b""  # the file is gone: what the window has is what there is


class _Door:
    """The rest of the file, on the node."""

    def __init__(self, agent: Agent, path: str, window: LineWindow) -> None:
        self._agent = agent
        self._path = path
        self._window = window

    async def read(self, offset: int, length: int) -> bytes:
        return await self._agent.read_range(self._path, offset, length)

    async def search(self, typed: str, start: int, *, backward: bool, limit: int) -> AsyncGenerator[Hits]:
        pattern, epoch = parse(typed), self._window.epoch
        found = self._agent.search(
            self._path,
            pattern,
            start=start,
            backward=backward,
            limit=limit,
        )
        async with contextlib.aclosing(found) as parts:
            async for part in parts:
                lines = tuple(Line(epoch, hit.offset, hit.data, hit.length) for hit in part.hits)
                yield Hits(lines, part.searched, part.total, bool(part.end), part.end == "limit")
