"""A small server on loopback with SGLang's streams and `/flush_cache`, whose streams are known to the token."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from tests.unit.probe.runs import PAIR_HISTOGRAM, pair_chunks

if TYPE_CHECKING:
    from collections.abc import Iterator

HANG_S = 60.0

Script = Callable[["Reply", dict[str, Any]], None]
"""Writes the answer to one request."""


class Server(ThreadingHTTPServer):
    """Answers each request for a stream by `script`; remembers what it was asked, and where."""

    daemon_threads = True

    def __init__(self, script: Script, flush: tuple[int, ...] = (200,)) -> None:
        super().__init__(("127.0.0.1", 0), Reply)
        self.script = script
        self.flush = list(flush)
        self.requests: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.flushes = 0
        self.metrics: Callable[[], bytes] | None = None
        """What GET /metrics answers; None: 404, as without --enable-metrics."""
        self.asked = threading.Event()
        self.release = threading.Event()

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no error here."""


class Reply(BaseHTTPRequestHandler):
    """One answer, in HTTP/1.1 chunks as uvicorn sends them."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/flush_cache":
            self.server.flushes += 1
            statuses = self.server.flush
            self.plain(statuses.pop(0) if len(statuses) > 1 else statuses[0], b"")
            return
        request = json.loads(body)
        self.server.requests.append(request)
        self.server.paths.append(self.path)
        self.server.headers.append(dict(self.headers))
        self.server.asked.set()
        self.server.script(self, request)

    def do_GET(self) -> None:
        told = self.server.metrics if self.path == "/metrics" else None
        self.plain(200 if told else 404, told() if told else b"{}")

    def plain(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def begin(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def part(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def event(self, tokens: int, before: int = 0, **meta: Any) -> None:
        """One event; `before` is where its `output_ids` begin (0: cumulative)."""
        base = {"id": "x", "finish_reason": None, "prompt_tokens": 15, "cached_tokens": 1, "completion_tokens": tokens}
        data = {"text": "t" * (tokens - before), "output_ids": [7] * (tokens - before), "meta_info": {**base, **meta}}
        self.data(data)

    def data(self, event: dict[str, Any]) -> None:
        self.part(b"data: " + json.dumps(event).encode() + b"\n\n")

    def end(self) -> None:
        self.part(b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextlib.contextmanager
def serve(script: Script, flush: tuple[int, ...] = (200,)) -> Iterator[Server]:
    """A running server on a free port."""
    with Server(script, flush) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.release.set()
            server.shutdown()
            thread.join()


def pair(cycle_s: float = 0.0, incremental: bool = False, **last: Any) -> Script:
    """The crafted pair: 400 tokens, 86 verifications, `last` over the last event's `meta_info`."""
    told = {"spec_verify_ct": 86, "spec_correct_drafts_histogram": list(PAIR_HISTOGRAM)}

    def script(reply: Reply, request: dict[str, Any]) -> None:
        assert request["sampling_params"]["max_new_tokens"] == 400
        counts = [tokens for _, tokens in pair_chunks()]
        reply.begin()
        for before, tokens in zip([0, *counts], counts, strict=False):
            finish = {"finish_reason": {"type": "length", "length": 400}, **told, **last} if tokens == 400 else {}
            reply.event(tokens, before if incremental else 0, **finish)
            if cycle_s:
                time.sleep(cycle_s)
        reply.end()

    return script


def plain(tokens: int) -> Script:
    """A server without speculation: a token an event."""

    def script(reply: Reply, _: dict[str, Any]) -> None:
        reply.begin()
        for n in range(1, tokens + 1):
            finish = {"finish_reason": {"type": "length", "length": tokens}} if n == tokens else {}
            reply.event(n, **finish)
        reply.end()

    return script


def openai(counts: tuple[int, ...], *, is_continuous: bool = True, **extension: Any) -> Script:
    """A server of either OpenAI form: chunks after which there are `counts` tokens, the `usage` of each or the last."""

    def script(reply: Reply, request: dict[str, Any]) -> None:
        asks = request["stream_options"]["continuous_usage_stats"] and is_continuous
        reply.begin()
        for before, count in zip((0, *counts), counts, strict=False):
            text = "t" * (count - before)
            choice = {"index": 0, "finish_reason": "length" if count == counts[-1] else None}
            choice.update({"delta": {"content": text}} if "messages" in request else {"text": text})
            reply.data(
                {"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": count} if asks else None}
            )
        if extension:
            reply.data({"choices": [], "sglext": extension})
        reply.data({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": counts[-1]}})
        reply.end()

    return script


def hanging(after: int) -> Script:
    """`after` tokens, then nothing until the server is released."""

    def script(reply: Reply, _: dict[str, Any]) -> None:
        reply.begin()
        if after:
            reply.event(after)
        reply.server.release.wait(HANG_S)

    return script
