"""A stand-in server, a process of its own, that streams at a set rate and writes down when it sent what.

`python -m tests.agent.rate_server JSON` prints its port and ends with its standard input. `/generate` answers with
`steps` events of `per_step` tokens in turn, `step_s` apart; all streams move on together, as a batch does, or each on
a clock of its own (`is_scattered`). For each request that ended it appends to `record` the times at which it had read
the request and at which it wrote each event, and the tokens made by then: on CLOCK_MONOTONIC, which all processes of a
machine share.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Rate:
    """What the server sends."""

    steps: int
    """Events of one stream after the first, which is prefill's and one token."""
    per_step: tuple[int, ...] = (1,)
    step_s: float = 0.04
    jitter: float = 0.0
    """Each wait is longer or shorter by up to this share; seeded."""
    first_s: float = 0.0
    is_cumulative: bool = True
    is_scattered: bool = False
    record: str = ""

    @property
    def counts(self) -> list[int]:
        """Tokens made so far after each event."""
        counts = [1]
        for step in range(self.steps):
            counts.append(counts[-1] + self.per_step[step % len(self.per_step)])
        return counts


@contextlib.contextmanager
def running(rate: Rate) -> Iterator[int]:
    """The server as a process; the port it listens on."""
    command = [sys.executable, "-m", "tests.agent.rate_server", json.dumps(asdict(rate))]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        try:
            yield int(process.stdout.readline())
        finally:
            process.stdin.close()
            process.wait(30)


def sent(record: Path) -> list[dict[str, list[float]]]:
    """What the server wrote down: `asked` (a list of one), `written` and `counts` of each request."""
    return [json.loads(line) for line in record.read_text().splitlines()]


class RateServer:
    """The server itself."""

    def __init__(self, rate: Rate) -> None:
        self.rate = rate
        self.parts = _parts(rate)
        self.random = random.Random(1)
        self.clock = asyncio.Condition()

    async def run(self) -> None:
        server = await asyncio.start_server(self.answer, "127.0.0.1", 0)
        sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
        sys.stdout.flush()
        ticking = asyncio.create_task(self.tick())
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        ticking.cancel()

    async def tick(self) -> None:
        """Let all streams move on, step by step."""
        due = time.perf_counter()
        while True:
            due += self.wait_s()
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            async with self.clock:
                self.clock.notify_all()

    def wait_s(self) -> float:
        return self.rate.step_s * (1 + self.rate.jitter * (2 * self.random.random() - 1))

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
            await reader.readexactly(length)
            if head.startswith(b"POST /generate "):
                await self.stream(writer)
            else:
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
        writer.close()

    async def stream(self, writer: asyncio.StreamWriter) -> None:
        asked, written = time.perf_counter(), []
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        await asyncio.sleep(self.rate.first_s)
        for number, part in enumerate(self.parts):
            if number:
                await self.next_step()
            written.append(time.perf_counter())
            writer.write(part)
        writer.write(_chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")
        if self.rate.record:
            with open(self.rate.record, "a", encoding="ascii") as file:
                print(json.dumps({"asked": [asked], "written": written, "counts": self.rate.counts}), file=file)

    async def next_step(self) -> None:
        if self.rate.is_scattered:
            await asyncio.sleep(self.wait_s())
        else:
            async with self.clock:
                await self.clock.wait()


def _parts(rate: Rate) -> list[bytes]:
    parts = []
    before = 0
    for count in rate.counts:
        start = 0 if rate.is_cumulative else before
        before = count
        parts.append(
            _chunk(b"data: " + json.dumps(_event(rate, start, count), separators=(",", ":")).encode() + b"\n\n")
        )
    return parts


def _event(rate: Rate, start: int, count: int) -> dict[str, object]:
    """An event with the keys of SGLang 0.5.12."""
    is_last = count == rate.counts[-1]
    meta: dict[str, object] = {
        "id": "6ba0caca2c404c659184cab269bfc924",
        "finish_reason": {"type": "length", "length": count} if is_last else None,
        "prompt_tokens": 900,
        "weight_version": "default",
        "num_retractions": 0,
        "queue_time": 0.0,
        "reasoning_tokens": 0,
        "completion_tokens": count,
        "cached_tokens": 1,
        "cached_tokens_details": {"device": 1, "host": 0},
        "dp_rank": None,
        "spec_verify_ct": rate.counts.index(count),
    }
    return {
        "text": " word" * (count - start),
        "output_ids": list(range(151_000 + start, 151_000 + count)),
        "meta_info": meta,
    }


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    asyncio.run(RateServer(Rate(**{**given, "per_step": tuple(given["per_step"])})).run())
