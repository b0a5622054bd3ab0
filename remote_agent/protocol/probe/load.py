"""Owns the requests of one block, or of the warm-up: how far they are, and the events that tell it. Times are given."""

from __future__ import annotations

from typing import Any, List, Optional, Protocol, Set

from remote_agent.protocol.probe.spec import Spec
from remote_agent.protocol.probe.trace import Trace

PROGRESS_S = 0.25
WARMUP = -1
"""The number of the warm-up among the blocks."""


class Stopped(Exception):
    """The run ends here and is not valid; the message says why, its kind first."""


class Events(Protocol):
    """Where events go."""

    def write(self, event: str, **fields: Any) -> None:
        """Take in one event."""


class Load:
    """The requests of one block, or of the warm-up, and how far they are."""

    def __init__(self, spec: Spec, spool: Events, block: int, of: int, now: float) -> None:
        self.of = of
        self.done = 0
        self._spec = spec
        self._spool = spool
        self._block = block
        self._running: Set[Trace] = set()
        self._unwritten: List[Trace] = []
        self._tokens = 0
        self._start = now
        self._sent: Optional[float] = None
        self._ended = 0.0
        self._told_at = self._start

    @property
    def tokens(self) -> int:
        """Tokens made so far."""
        return self._tokens + sum(trace.tokens for trace in self._running)

    @property
    def wall_s(self) -> float:
        """From the first request's sending to the last one's end."""
        return 0.0 if self._sent is None else self._ended - self._sent

    def begin(self, index: int) -> Trace:
        """Return the trace of the next request."""
        trace = Trace(self._spec, index)
        self._running.add(trace)
        return trace

    def ended(self, trace: Trace) -> None:
        """A request is over. Raises Stopped where it failed."""
        self._running.discard(trace)
        self._unwritten.append(trace)
        self.done += 1
        self._tokens += trace.tokens
        self._sent = trace.sent if self._sent is None else min(self._sent, trace.sent)
        self._ended = max(self._ended, trace.ended)
        if trace.error:
            self.write()
            name = "the warm-up" if self._block == WARMUP else f"block {self._block + 1}"
            raise Stopped(f"{trace.error} (request {trace.index + 1} of {name})")

    def tell(self, now: float) -> None:
        """Write what is ended, and now and then how far it is: after the next request has begun, not before."""
        self.write()
        if now - self._told_at < PROGRESS_S:
            return
        self._told_at = now
        self._spool.write(
            "progress",
            block=self._block,
            blocks=self._spec.blocks,
            warmup=self._block == WARMUP,
            done=self.done,
            of=self.of,
            completion_tokens=self.tokens,
            elapsed_s=round(now - self._start, 3),
        )

    def write(self) -> None:
        """Write the requests that are over."""
        for trace in self._unwritten:
            self._spool.write(
                "request", block=self._block, index=trace.index, warmup=self._block == WARMUP, **trace.record()
            )
        self._unwritten = []
