"""Search a log on its node: only what was found comes over the wire."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from console.logs.classify import classify
from console.logs.split import LineSplitter

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from console.actions.node import Node
    from console.logs.record import Record
    from console.logs.search_pattern import SearchPattern
    from console.remote.node_logs import Found, Hit


async def find(
    node: Node,
    path: str,
    pattern: SearchPattern,
    *,
    start: int | None = None,
    backward: bool = False,
    limit: int = 10_000,
    progress: Callable[[Found], None] | None = None,
) -> AsyncGenerator[list[Record]]:
    """The records of the lines that match, batch by batch; leaving the loop ends the search.

    `limit` counts lines. A line's text is its first 4096 bytes. Raises what NodeLogs.search raises.
    """
    search = node.agent.search(path, pattern, start=start, backward=backward, limit=limit)
    async with contextlib.aclosing(search) as batches:
        async for batch in batches:
            if progress:
                progress(batch)
            records = [record for hit in batch.hits for record in records_of(hit)]
            if records:
                yield records


def records_of(hit: Hit) -> list[Record]:
    """The records of a line that was found."""
    splitter = LineSplitter()
    lines = [*splitter.feed(hit.offset, hit.data), *splitter.finish()]
    return [record for line in lines for record in classify(line)]
