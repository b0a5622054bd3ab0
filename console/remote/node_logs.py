"""Logs on the node: follow them over rotation and reconnects, open them at the tail, search them, list them."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from console.remote.answers import Malformed, from_base64, from_wire
from console.remote.node_errors import console_error
from console.remote.session import LinkLost
from remote_agent import protocol as wire
from remote_agent.protocol import AgentError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from console.logs.search_pattern import SearchPattern
    from console.remote.rpc import Notification
    from console.remote.session import Session

TAIL_LIMIT = 4 << 20
HITS_LIMIT = 10_000


@dataclass(frozen=True, slots=True)
class LogPart:
    """Bytes of a followed file from `offset` on; `reset` says why the file began anew (the data is empty then)."""

    offset: int
    data: bytes
    size: int
    """Length of the file when this part was read."""
    position: str
    """The place behind this part, in the agent's words: hand it back as `resume`. Empty: there is no file yet."""
    reset: str = ""
    lost: int = 0
    """Bytes that were there and that nobody can read any more; with a reset."""
    name: str = ""
    """The file that is read from a reset on: the log, or where it was renamed meanwhile, `log.1`."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A line that was found; `data` is its first 4096 bytes at most, without its end."""

    offset: int
    length: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Found:
    """A batch of hits, perhaps empty, and how far the search is: bytes `searched` of `total`."""

    hits: tuple[Hit, ...]
    searched: int
    total: int
    matches: int
    end: str
    """`done` or `limit` in the last batch, else empty."""


class NodeLogs:
    """The agent's calls about logs. Every method raises ConsoleError's kin; LinkLost when the link breaks."""

    def __init__(self, session: Session) -> None:
        self.session = session

    async def follow(
        self, path: str, offset: int = 0, *, resume: str = "", until_eof: bool = False
    ) -> AsyncGenerator[LogPart]:
        """The bytes of a log from `offset` on, or from where a part's `position` says; each byte once.

        After a lost link it goes on where it was; a file that was renamed, or copied and cut, meanwhile is read to its
        end first. What is gone for good comes as a part with its size. A file that is not there yet is awaited, but not
        with `until_eof`. `offset` below zero counts from the end.
        """
        while True:
            params = {"path": path, "offset": offset, "resume": resume, "until_eof": until_eof}
            try:
                async with contextlib.aclosing(self.session.stream("logs.follow", params)) as notifications:
                    async for each in notifications:
                        part = _log_part(each)
                        resume = part.position or resume
                        yield part
                return
            except LinkLost:
                # The link's own state says when it is given up; until then the file waits.
                await self.session.connected()
            except AgentError as error:
                raise console_error(error) from None

    async def tail(self, path: str, lines: int = 1000, limit: int = TAIL_LIMIT) -> wire.LogTail:
        """Where the last `lines` lines begin, at most `limit` bytes before the end: `follow(resume=its position)`."""
        return from_wire(wire.LogTail, await self._ask("logs.tail", path=path, lines=lines, limit=limit))

    async def tail_offset(self, path: str, lines: int) -> int:
        """The byte offset where the last `lines` lines begin."""
        return (await self.tail(path, lines)).offset

    async def read_range(self, path: str, offset: int, length: int) -> bytes:
        """Bytes of a file of any size; fewer where it ends. For what lies before a tail that was opened."""
        data = b""
        while len(data) < length:
            answer = await self._ask("files.head", path=path, offset=offset + len(data), length=length - len(data))
            part = from_base64(from_wire(wire.FileContent, answer).data)
            if not part:
                break
            data += part
        return data

    async def search(
        self,
        path: str,
        pattern: SearchPattern,
        *,
        start: int | None = None,
        backward: bool = False,
        limit: int = HITS_LIMIT,
    ) -> AsyncGenerator[Found]:
        """Lines of a file that match, found on the node over its bytes; leaving the loop ends the search there.

        Forward: lines that begin at or after `start` (None: 0). Backward: lines that begin before it (None: the end),
        the last one first. Case is ignored for ASCII letters alone.

        Raises:
            UsageError: not a pattern for bytes.
            Refused: it backtracks, over 5 s of CPU for 1 MB; the process on the node was ended.
        """
        params: dict[str, Any] = {
            "path": path,
            "pattern": pattern.text,
            "regex": pattern.regex,
            "ignore_case": pattern.ignore_case,
            "inverse": pattern.inverse,
            "backward": backward,
            "limit": limit,
        }
        if start is not None:
            params["start"] = start
        try:
            async with contextlib.aclosing(self.session.stream("logs.search", params)) as notifications:
                async for each in notifications:
                    yield _found(from_wire(wire.LogHits, each.params))
        except AgentError as error:
            raise console_error(error) from None

    async def log_sources(self) -> list[wire.LogSource]:
        """Logs of our runs, of SGLang processes of this user that we did not start, of docker's containers."""
        return from_wire(wire.LogSources, await self._ask("logs.sources")).sources

    async def log_place(self, run_id: str, path: str) -> wire.LogPlace:
        """Where the lines of `path` are now that were written from the start of a run on."""
        return from_wire(wire.LogPlace, await self._ask("logs.place", run_id=run_id, path=path))

    async def _ask(self, method: str, timeout: float = 60.0, **params: Any) -> Any:
        """A reading; asked again after a lost link."""
        try:
            return await self.session.read(method, params, timeout=timeout)
        except AgentError as error:
            raise console_error(error) from None


def _log_part(notification: Notification) -> LogPart:
    if notification.method == "logs.reset":
        reset = from_wire(wire.LogReset, notification.params)
        return LogPart(reset.offset, b"", 0, reset.position, reset.reason, reset.lost, reset.name)
    batch = from_wire(wire.LogBatch, notification.params)
    return LogPart(batch.offset, from_base64(batch.data), batch.size, batch.position)


def _found(hits: wire.LogHits) -> Found:
    if not len(hits.offsets) == len(hits.lengths) == len(hits.kept):
        raise Malformed("hits whose parts do not belong together")
    data = from_base64(hits.data)
    found, begin = [], 0
    for offset, length, kept in zip(hits.offsets, hits.lengths, hits.kept, strict=True):
        found.append(Hit(offset, length, data[begin : begin + kept]))
        begin += kept
    return Found(tuple(found), hits.searched, hits.total, hits.matches, hits.end)
