"""Owns the steady window of a block: the time in which every stream runs.

At concurrency c > 1 a block begins with fewer than c streams that make tokens, and ends with fewer. The steady window
begins when each of the first c requests has brought its first token, and ends when the first request ends whose place
nobody takes: no request of the block is sent any more. Of c requests it is "last first token to first finish", as in
SGLang's one-batch benchmark. A request that takes another's place does its prefill within the window: that belongs to
serving c streams.

Tokens are counted at the window's edges by a straight line between two chunks: chunks of many tokens would else make
a short window longer or shorter than it is. c is the most requests that were in flight at once.

There is none at c = 1; where a request's events do not count tokens; where c requests never ran together after all of
them had begun; and where the node's clock was set within the block.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from console.probe.trace import BlockTrace, RequestTrace

HAND_OVER_S = 0.001
"""Two requests that overlap by less are one after the other."""

CLOCK_SLACK = 0.01
"""Share of a block's time by which its requests' wall clock may differ from it, and 10 ms."""


@dataclass(frozen=True, slots=True)
class SteadyWindow:
    """One block's."""

    seconds: float
    tokens: float

    @property
    def tok_s(self) -> float:
        """Of all streams together."""
        return self.tokens / self.seconds


def concurrency(requests: Sequence[RequestTrace]) -> int | None:
    """Return the most requests that were in flight at once; None where it is not known when they were sent."""
    edges: list[tuple[float, int]] = []
    for request in requests:
        if request.sent_at is None:
            return None
        # A request is sent when another one ends, and the two times are of two clocks.
        edges += [(request.sent_at, 1), (request.sent_at + max(0.0, request.e2e_s - HAND_OVER_S), -1)]
    running = most = 0
    for _, step in sorted(edges):
        running += step
        most = max(most, running)
    return most or None


def steady_window(block: BlockTrace, requests: Sequence[RequestTrace]) -> SteadyWindow | None:
    """Return the steady window of a block from its measured requests, None without one (see above)."""
    streams = concurrency(requests)
    if streams is None or streams < 2 or any(not request.chunks for request in requests):
        return None
    ordered = sorted(requests, key=_sent)
    if not _is_on_one_clock(block, ordered):
        return None
    begin = max(_sent(request) + request.chunks[0][0] for request in ordered[:streams])
    last_sent = _sent(ordered[-1])
    ends = [end for request in ordered if (end := _sent(request) + request.chunks[-1][0]) >= last_sent]
    end = min(ends)
    if end <= begin:
        return None
    tokens = math.fsum(
        _made(request, end - _sent(request)) - _made(request, begin - _sent(request)) for request in ordered
    )
    return SteadyWindow(end - begin, tokens) if tokens > 0 else None


def of_blocks(blocks: Iterable[BlockTrace], requests: Sequence[RequestTrace]) -> tuple[SteadyWindow, ...]:
    """Return the steady windows of a run; empty unless each of its blocks has one."""
    windows = [steady_window(block, [each for each in requests if each.block == block.block]) for block in blocks]
    found = tuple(window for window in windows if window is not None)
    return found if len(found) == len(windows) else ()


def _sent(request: RequestTrace) -> float:
    return request.sent_at or 0.0


def _is_on_one_clock(block: BlockTrace, requests: Sequence[RequestTrace]) -> bool:
    """Do the wall clock's times span what the block's monotonic clock says?"""
    span = max(_sent(each) + each.e2e_s for each in requests) - _sent(requests[0])
    return abs(span - block.wall_s) <= max(CLOCK_SLACK * block.wall_s, 0.01)


def _made(request: RequestTrace, time: float) -> float:
    """Tokens that a stream had made by `time`, seconds since it was sent: none before its first chunk."""
    chunks = request.chunks
    after = bisect_right(chunks, time, key=lambda chunk: chunk[0])
    if after == 0:
        return 0.0
    if after == len(chunks):
        return float(chunks[-1][1])
    (left, before), (right, total) = chunks[after - 1], chunks[after]
    return before + (total - before) * (time - left) / (right - left)
