"""Owns the probe's HTTP: one streamed request with the time of each chunk, and the flush of the prefix cache."""

from __future__ import annotations

import http.client
import json
import socket
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Optional

from remote_agent.probe.spec import LOOPBACK, Prompt, Spec
from remote_agent.probe.stream import StreamError, capped, events, finish_reason, meta_info, token_count

READ = 64 * 1024
ERROR_BYTES = 2000
FLUSH_TRIES = 10
FLUSH_PAUSE_S = 0.2
FLUSH_TIMEOUT_S = 30.0


@dataclass
class Trace:
    """One request as it went. Times in seconds since it was sent, on a monotonic clock."""

    sent_at: float = 0.0
    """Wall clock, for people."""
    sent: float = 0.0
    """Monotonic; with `ended` it gives the wall time of a block."""
    ended: float = 0.0
    chunks: List[List[float]] = field(default_factory=list)
    """[time, tokens made so far] of each event that brought tokens."""
    meta: Dict[str, Any] = field(default_factory=dict)
    """`meta_info` of the last event."""
    error: Optional[str] = None

    @property
    def tokens(self) -> int:
        """Tokens made so far."""
        return int(self.chunks[-1][1]) if self.chunks else 0

    def record(self) -> Dict[str, Any]:
        """Return the fields of the spool's `request` event."""
        return {
            "sent_at": round(self.sent_at, 6),
            "first_token_s": self.chunks[0][0] if self.chunks else None,
            "e2e_s": round(self.ended - self.sent, 6),
            "chunks": self.chunks,
            "meta_info": capped(self.meta),
            "prompt_tokens": _count(self.meta, "prompt_tokens"),
            "completion_tokens": self.tokens,
            "cached_tokens": _count(self.meta, "cached_tokens"),
            "finish_reason": finish_reason(self.meta),
            "error": self.error,
        }


def generate(spec: Spec, prompt: Prompt, on_tokens: Callable[[int], None]) -> Trace:
    """Send one request and follow its stream to the end. Failures are in the trace's `error`, as "kind: message"."""
    trace = Trace(sent_at=time.time(), sent=time.perf_counter())
    try:
        _stream(spec, prompt, trace, on_tokens)
        trace.error = _shortfall(spec, trace)
    except StreamError as error:
        trace.error = f"{error.kind}: {error.message}"
    except (TimeoutError, socket.timeout):  # one and the same from Python 3.10 on
        trace.error = f"timeout: no end within {spec.timeout_s:g} s"
    except (OSError, http.client.HTTPException) as error:
        trace.error = f"connection: {type(error).__name__}: {error}"
    trace.ended = time.perf_counter()
    trace.error = masked(trace.error, spec)
    return trace


def flush_cache(spec: Spec) -> int:
    """Ask for an empty prefix cache; return the HTTP status of the last try, 0 where nothing answered.

    SGLang answers 400 while a request runs, and the last one may still be leaving: such an answer is asked again.
    """
    status = 0
    for attempt in range(FLUSH_TRIES):
        if attempt:
            time.sleep(FLUSH_PAUSE_S)
        status = _flush_once(spec)
        if status != 400:
            break
    return status


def masked(text: Optional[str], spec: Spec) -> Optional[str]:
    """Return `text` without the key, should a server echo it."""
    return text.replace(spec.api_key, "***") if text and spec.api_key else text


def _flush_once(spec: Spec) -> int:
    connection = http.client.HTTPConnection(LOOPBACK, spec.port, timeout=min(FLUSH_TIMEOUT_S, spec.timeout_s))
    try:
        connection.request("POST", "/flush_cache", headers=_headers(spec))
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()


def _stream(spec: Spec, prompt: Prompt, trace: Trace, on_tokens: Callable[[int], None]) -> None:
    body = _body(spec, prompt)
    connection = http.client.HTTPConnection(LOOPBACK, spec.port, timeout=spec.timeout_s)
    try:
        connection.connect()
        sock = connection.sock  # http.client lets go of it once the answer has begun
        trace.sent_at, trace.sent = time.time(), time.perf_counter()
        connection.request("POST", "/generate", body=body, headers=_headers(spec))
        response = connection.getresponse()
        if response.status != 200:
            text = response.read(ERROR_BYTES).decode("utf-8", "replace")
            raise StreamError(f"http_{response.status}", text)
        _follow(events(_parts(response, sock, trace.sent + spec.timeout_s)), trace, on_tokens)
    finally:
        connection.close()


def _parts(response: http.client.HTTPResponse, sock: Any, deadline: float) -> Iterator[bytes]:
    while True:
        left = deadline - time.perf_counter()
        if left <= 0:
            raise TimeoutError
        sock.settimeout(left)
        part = response.read1(READ)
        if not part:
            return
        yield part


def _follow(stream: Iterator[Dict[str, Any]], trace: Trace, on_tokens: Callable[[int], None]) -> None:
    for event in stream:
        now = time.perf_counter()
        trace.meta = meta_info(event)
        before = trace.tokens
        count = token_count(trace.meta, before)
        if count > before:
            trace.chunks.append([round(now - trace.sent, 6), count])
            on_tokens(count - before)


def _shortfall(spec: Spec, trace: Trace) -> Optional[str]:
    reason = finish_reason(trace.meta) or ""
    if reason.startswith("abort"):
        return f"aborted: {reason}"
    if not trace.tokens:
        return "no_tokens: the stream brought no token"
    if spec.ignore_eos and trace.tokens < spec.max_new_tokens:
        return "early_end: {} of {} tokens, finish reason {}".format(
            trace.tokens, spec.max_new_tokens, reason or "not given"
        )
    return None


def _body(spec: Spec, prompt: Prompt) -> bytes:
    sampling = {
        "max_new_tokens": spec.max_new_tokens,
        "temperature": spec.temperature,
        "ignore_eos": spec.ignore_eos,
    }
    body: Dict[str, Any] = {"sampling_params": sampling, "stream": True}
    if isinstance(prompt, str):
        body["text"] = prompt
    else:
        body["input_ids"] = list(prompt)
    return json.dumps(body).encode("utf-8")


def _headers(spec: Spec) -> Dict[str, str]:
    headers = {"Content-Type": "application/json", "Connection": "close"}
    if spec.api_key:
        headers["Authorization"] = "Bearer " + spec.api_key
    return headers


def _count(meta: Dict[str, Any], key: str) -> Optional[int]:
    value = meta.get(key)
    return value if type(value) is int else None
