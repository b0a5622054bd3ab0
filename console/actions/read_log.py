"""Read a server's log: all of it up to now, or as it grows; records, shape table and counts come from it."""

from __future__ import annotations

import contextlib
import datetime
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from console.actions import log_record
from console.actions.judging import judge_of, tp_size_of
from console.errors import Refused, UsageError
from console.logs.history import LogHistory
from console.logs.selection import first_time, point_in_time, seconds_ago
from console.node.server_runs import is_meant

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from console.actions.node import Node
    from console.logs.record import Record
    from console.logs.shapes import ShapeRow
    from console.wiring.widths import Verdict
    from remote_agent import protocol as wire
    from remote_agent.protocol import ServerRun

PROBE = 64 * 1024
"""Bytes in which a time is looked for."""
TIME_FORMAT = "%Y-%m-%d %H:%M:%S"


@dataclass(frozen=True, slots=True)
class LogSource:
    """A log file on the node, and the judge for its shapes."""

    path: str
    offset: int
    record: dict[str, Any]
    """Of the server's run; empty for a file that no server of ours wrote."""
    run_id: str = ""

    @property
    def judge(self) -> Callable[[ShapeRow], Verdict]:
        return judge_of(self.record)

    def history(self) -> LogHistory:
        return LogHistory(tp_size_of(self.record))


async def sources(node: Node) -> list[wire.LogSource]:
    """Logs that can be found on the node, the newest runs first; of the embedded one, a world of its own, its runs'."""
    found = await node.agent.log_sources()
    return [each for each in found if each.kind == "run"] if node.simulated else found


async def find(node: Node, server: str | None = None, port: int | None = None, file: str | None = None) -> LogSource:
    """The log that is meant: a file, or a server's; without either the newest server of this operator, ended or not.

    A server on `port` that is not ours is read by its own descriptors.

    Raises:
        UsageError: there is none.
        Refused: what that server wrote is not there any more.
    """
    if file is not None:
        return LogSource(file, 0, {})
    runs = await node.agent.servers()
    if server is not None or port is not None:
        candidates = [run for run in runs if _is_meant(run, server, port)]
    else:
        candidates = [run for run in runs if run.operator == node.operator]
    if candidates:
        return await of_run(node, candidates[-1])
    if port is not None:
        return await _of_listener(node, port)
    raise UsageError(
        "no server's log is meant", f"`logs {node.name} --list` shows what logs there are; name one with --file."
    )


async def of_run(node: Node, run: ServerRun) -> LogSource:
    """The log of a server, where it is now. Raises Refused when it is not there any more."""
    return LogSource(await place(node, run.run_id, run.log_path), run.log_offset, run.record, run.run_id)


async def place(node: Node, run_id: str, path: str) -> str:
    """The file with what was written to `path` from the start of a run on: a later launch onto it renames the file.

    Raises Refused when it is not there any more: another server's lines are none of this run's.
    """
    found = await node.agent.log_place(run_id, path)
    if found.path:
        return found.path
    raise Refused(
        f"its log {path} was moved or replaced by server {found.taken_by}",
        f"`logs {node.name} --list` shows what logs there are; a copy of it is read with --file.",
    )


async def _of_listener(node: Node, port: int) -> LogSource:
    """The log of the process that listens on a port: what its fd 1 or else fd 2 leads to."""
    holders = (await node.agent.port(port)).holders
    if not holders:
        raise UsageError(f"nothing listens on port {port}", f"`logs {node.name} --list` shows what logs there are.")
    pid = holders[0].identity.pid
    for facts in await node.agent.paths([f"/proc/{pid}/fd/{number}" for number in (1, 2)]):
        if facts.kind == "file":
            is_named = not facts.real_path.endswith(" (deleted)")
            return LogSource(facts.real_path if is_named else facts.path, 0, {})
    raise UsageError(
        f"the server on port {port} (pid {pid}) does not write to a file that can be read",
        "Its output goes to a pipe or a terminal: look for the file of whatever reads that, docker's among `--list`.",
    )


async def read(node: Node, source: LogSource) -> LogHistory:
    """The whole log up to its end now."""
    history = source.history()
    async for _ in follow(node, source, history, until_eof=True):
        pass
    history.finish()
    return history


async def judged(node: Node, source: LogSource, history: LogHistory) -> LogSource:
    """The source with a judge: a file that no run of ours wrote is judged by the checkpoints that it names itself."""
    if source.run_id:
        return source
    return replace(source, record=await log_record.of_log(node, history.server_args))


async def follow(
    node: Node,
    source: LogSource,
    history: LogHistory,
    *,
    offset: int | None = None,
    resume: str = "",
    until_eof: bool = False,
) -> AsyncGenerator[list[Record]]:
    """Records as they come, folded into `history` too; goes on over rotation and a lost connection.

    From `resume` on (a place that the agent told), or `offset`, or the source's own begin. A server's log that a later
    launch renames is followed where it is then. Raises Refused when it is not there any more.
    """
    path, start, is_moved = source.path, source.offset if offset is None else offset, True
    while is_moved:
        is_moved = False
        parts = node.agent.follow(path, start, resume=resume, until_eof=until_eof)
        async with contextlib.aclosing(parts):
            async for part in parts:
                if part.reset and source.run_id:
                    now = await place(node, source.run_id, path)
                    is_moved, path = now != path, now
                    if is_moved:
                        break
                resume = part.position or resume
                records = history.reset(part.offset, part.reset, part.lost) if part.reset else []
                records += history.feed(part.offset, part.data)
                if records:
                    yield records


async def last(node: Node, source: LogSource, lines: int) -> LogHistory:
    """The last lines of a log of any size."""
    place = await node.agent.tail(source.path, lines)
    history = LogHistory(tp_size_of(source.record))
    async for _ in follow(node, source, history, resume=place.position, until_eof=True):
        pass
    history.finish()
    return history


async def since(node: Node, source: LogSource, typed: str) -> tuple[str, int]:
    """What `--since` means on this node's clock, and a byte offset at or before the first line of that time.

    Found by halving: a log's times rise. Raises UsageError.
    """
    place = await node.agent.tail(source.path, 1)
    ago = seconds_ago(typed)
    if ago is None:
        wanted = point_in_time(typed)
    else:
        # The node's own clock, without a zone, as its logs have it.
        now = datetime.datetime.fromisoformat(place.local_time)
        wanted = (now - datetime.timedelta(seconds=ago)).strftime(TIME_FORMAT)
    low, high = source.offset, place.size
    while high - low > PROBE:
        middle = (low + high) // 2
        told = first_time(await node.agent.read_range(source.path, middle, PROBE))
        if told and told < wanted:
            low = middle
        else:
            high = middle
    return wanted, low


def _is_meant(run: ServerRun, server: str | None, port: int | None) -> bool:
    if server is not None:
        return is_meant(run, server)
    return run.port == port
