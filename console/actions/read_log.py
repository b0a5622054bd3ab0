"""Read a server's log: all of it up to now, or as it grows; records, shape table and counts come from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from console.actions.judging import judge_of, tp_size_of
from console.errors import UsageError
from console.logs.history import LogHistory
from console.node.server_runs import is_meant

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from console.actions.node import Node
    from console.logs.record import Record
    from console.logs.shapes import ShapeRow
    from console.wiring.widths import Verdict
    from remote_agent.protocol import ServerRun


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


async def find(node: Node, server: str | None = None, port: int | None = None, file: str | None = None) -> LogSource:
    """The log that is meant: a file, or a server's; without either the newest server of this operator, ended or not.

    Raises UsageError when there is none.
    """
    if file is not None:
        return LogSource(file, 0, {})
    if server is not None or port is not None:
        candidates = [run for run in await node.agent.servers() if _is_meant(run, server, port)]
    else:
        candidates = [run for run in await node.agent.servers() if run.operator == node.operator]
    if not candidates:
        raise UsageError("no server's log is meant", "Launch one, or name a file with --file.")
    run = candidates[-1]
    return LogSource(run.log_path, run.log_offset, run.record, run.run_id)


async def read(node: Node, source: LogSource) -> LogHistory:
    """The whole log up to its end now."""
    history = source.history()
    async for part in node.agent.follow(source.path, source.offset, until_eof=True):
        if part.reset:
            history.reset(part.offset)
        history.feed(part.offset, part.data)
    history.finish()
    return history


async def follow(node: Node, source: LogSource, history: LogHistory) -> AsyncIterator[list[Record]]:
    """Records as they come, folded into `history` too; goes on over a lost connection."""
    async for part in node.agent.follow(source.path, source.offset):
        if part.reset:
            history.reset(part.offset)
        records = history.feed(part.offset, part.data)
        if records:
            yield records


def _is_meant(run: ServerRun, server: str | None, port: int | None) -> bool:
    if server is not None:
        return is_meant(run, server)
    return run.port == port
