"""Owns what one request measured: its stream, read as it comes, and the time of each chunk. Pure: times are given."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from remote_agent.protocol.probe.forms import Reader, reader_of
from remote_agent.protocol.probe.spec import Spec
from remote_agent.protocol.probe.stream import EventStream, StreamError, capped

ERROR_BYTES = 2000


class Trace:
    """One request as it went. Times in seconds on a monotonic clock, in the record since it was sent."""

    def __init__(self, spec: Spec, index: int) -> None:
        self.index = index
        self.sent = 0.0
        self.ended = 0.0
        self.error: Optional[str] = None
        """As "kind: message"."""
        self._spec = spec
        self._sent_at = 0.0
        self._chunks: List[List[float]] = []
        self._first: Optional[float] = None
        self._refusal = b""
        self._events = EventStream()
        self._reader: Reader = reader_of(spec)

    @property
    def tokens(self) -> int:
        """Tokens made so far."""
        return self._reader.tokens

    def begun(self, wall: float, now: float) -> None:
        """The request is being sent."""
        self._sent_at, self.sent = wall, now

    def take(self, status: int, part: bytes, now: float) -> bool:
        """Take in a part of the answer's body; return whether that is all. Raises StreamError."""
        if status != 200:
            self._refusal += part
            return len(self._refusal) >= ERROR_BYTES
        for payload in self._events.feed(part):
            grew = self._reader.read(payload)
            since = round(now - self.sent, 6)
            if grew:
                self._chunks.append([since, self._reader.tokens])
            if self._first is None and self._reader.has_begun:
                self._first = since
        return self._events.is_done

    def end(self, status: Optional[int], error: Optional[str], now: float) -> None:
        """The answer is over; `error` is what its connection says of that."""
        self.ended = now
        if status not in (None, 200):
            error = f"http_{status}: " + self._refusal[:ERROR_BYTES].decode("utf-8", "replace")
        elif error is None and not self._events.is_done:
            error = "cut_off: the stream ended before [DONE]"
        self.error = self._spec.masked(error or self._last_error())

    def record(self) -> Dict[str, Any]:
        """Return the fields of the spool's `request` event."""
        meta = self._reader.meta
        record = {
            "sent_at": round(self._sent_at, 6),
            "first_token_s": self._first,
            "e2e_s": round(self.ended - self.sent, 6),
            "token_counts": self._reader.counts,
            "chunks": self._chunks,
            "meta_info": capped(meta),
            "prompt_tokens": _count(meta, "prompt_tokens"),
            "completion_tokens": self.tokens,
            "cached_tokens": _count(meta, "cached_tokens"),
            "finish_reason": self._reader.finish_reason,
            "error": self.error,
        }
        record.update(self._reader.output())
        return record

    def _last_error(self) -> Optional[str]:
        try:
            self._reader.end()
        except StreamError as error:
            return f"{error.kind}: {error.message}"
        return self._shortfall()

    def _shortfall(self) -> Optional[str]:
        reason = self._reader.finish_reason or ""
        if reason.startswith("abort"):
            return f"aborted: {reason}"
        if not self.tokens:
            return "no_tokens: the stream told of no token"
        retractions = _count(self._reader.meta, "num_retractions")
        if retractions:
            return f"kv_pool_full: the server put the request back {retractions} times (num_retractions)"
        if self._spec.ignore_eos and self.tokens < self._spec.max_new_tokens:
            return "early_end: {} of {} tokens, finish reason {}".format(
                self.tokens, self._spec.max_new_tokens, reason or "not given"
            )
        return None


def _count(meta: Dict[str, Any], key: str) -> Optional[int]:
    value = meta.get(key)
    return value if type(value) is int else None
