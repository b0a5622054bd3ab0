"""Read how far a server is, from its run record and from as little of its log as tells it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from console.actions import read_log, search_log
from console.errors import Refused, UsageError
from console.logs.search_pattern import SearchPattern
from console.node.server_runs import ALIVE, ServerPhase, phase_of
from console.remote.node_errors import NodeError

if TYPE_CHECKING:
    from console.actions.node import Node
    from console.logs.history import LogHistory
    from remote_agent.protocol import ServerRun

BEGIN = 1024 * 1024
"""Bytes of a log's begin that are read whole: a launch up to ready, where no patch prints a lot."""
END = 64 * 1024
"""Bytes of its end: what the server did last."""
READY = SearchPattern("The server is fired up and ready to roll!", regex=False)


async def read(node: Node, run: ServerRun) -> ServerPhase:
    """Where the server stands now; `unknown` with the reason where its log cannot be read."""
    if run.state not in ALIVE:
        return phase_of(run)
    try:
        return await _by_log(node, run)
    except NodeError as error:
        is_missing = error.kind == "not_found"
        return ServerPhase("starting") if is_missing else ServerPhase("unknown", error.message)
    except (Refused, UsageError) as error:
        return ServerPhase("unknown", error.message)


async def _by_log(node: Node, run: ServerRun) -> ServerPhase:
    source = await read_log.of_run(node, run)
    size = (await node.agent.tail(source.path, 1)).size
    end = source.offset + BEGIN
    history, since = await _read(node, source, end)
    if size > end:
        if not history.is_over:
            since = await _find_ready(node, source, end, history) or since
        await _read_end(node, source, max(end, size - END), history)
    history.finish()
    return phase_of(run, history.phase, since)


async def _read(node: Node, source: read_log.LogSource, end: int) -> tuple[LogHistory, str | None]:
    """The log up to about `end`, and when it told of being ready."""
    history, since = source.history(), None
    parts = read_log.follow(node, source, history, until_eof=True)
    async with contextlib.aclosing(parts):
        async for records in parts:
            since = next((each.ts for each in records if each.kind == "ready"), since)
            if records[-1].offset >= end:
                break
    return history, since


async def _find_ready(node: Node, source: read_log.LogSource, start: int, history: LogHistory) -> str | None:
    """The line of a long log that says it is ready, taken in; its time."""
    async for records in search_log.find(node, source.path, READY, start=start, limit=1):
        for each in records:
            if each.kind == "ready":
                history.feed(each.offset, f"{each.text}\n".encode())
                return each.ts
    return None


async def _read_end(node: Node, source: read_log.LogSource, offset: int, history: LogHistory) -> None:
    history.reset(offset)
    async for _ in read_log.follow(node, source, history, offset=offset, until_eof=True):
        pass
