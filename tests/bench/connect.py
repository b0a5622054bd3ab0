"""What connecting costs by each transport: `python -m tests.bench.connect`.

Beside `ssh host python3 -c pass`, in turn in one run against a real sshd on loopback, so that a drifting machine hits
all of them: read the ratios. "new" uploads the agent, "cached" finds it there, "master" finds a connection of OpenSSH
too. Then a log of known size through each channel, raw and as the agent sends it to the log pane.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from console.remote import bundle
from console.remote.agent import Agent
from console.remote.bootstrap import AgentSettings
from console.remote.session import Session
from tests.e2e import sshd, ways
from tests.e2e.ways import NODE, SSH, everything, way

if TYPE_CHECKING:
    from collections.abc import Callable

RUNS = 9
PYTHON = sys.executable
LINES = 2_000_000
LINE = b"[2026-02-20 12:00:00 TP0] Decode batch, #running-req: 1, gen throughput (token/s): 54.81\n"
SIZE = LINES * len(LINE)


def main() -> None:
    if sshd.SSHD is None:
        print("no sshd on this machine: nothing was measured")
        return
    with tempfile.TemporaryDirectory() as folder:
        server = sshd.start(Path(folder) / "sshd")
        os.environ.update(server.environ())
        try:
            _connecting(server)
            log = Path(folder) / "server.log"
            log.write_bytes(LINE * LINES)
            asyncio.run(_bulk(log))
        finally:
            server.stop()


def _connecting(server: sshd.Sshd) -> None:
    asyncio.run(_hello(SSH[0]))  # imports, and the agent in the cache
    times: dict[str, list[float]] = {}
    for _ in range(RUNS):
        _round(server, times)
    peer = times.pop("ssh python3 -c pass")
    print(f"{'ssh python3 -c pass':<24} {statistics.median(peer) * 1000:8.1f} ms")
    for name, found in times.items():
        ratio = statistics.median(ours / theirs for ours, theirs in zip(found, peer, strict=True))
        target = "   (target <= 1.3)" if name == "asyncssh cached" else ""
        print(f"{name:<24} {statistics.median(found) * 1000:8.1f} ms   ratio {ratio:.2f}{target}")


def _round(server: sshd.Sshd, times: dict[str, list[float]]) -> None:
    def timed(name: str, work: Callable[[], object]) -> None:
        started = time.perf_counter()
        work()
        times.setdefault(name, []).append(time.perf_counter() - started)

    timed("ssh python3 -c pass", lambda: subprocess.run(["ssh", NODE, PYTHON, "-c", "pass"], check=True))
    for name in (*SSH, "auto"):
        shutil.rmtree(server.home / ".cache")
        asyncio.run(ways.forget(server))
        timed(f"{name} new", lambda name=name: asyncio.run(_hello(name)))
        asyncio.run(ways.forget(server))
        timed(f"{name} cached", lambda name=name: asyncio.run(_hello(name)))
        if name == "openssh":
            timed(f"{name} master", lambda name=name: asyncio.run(_hello(name)))


async def _hello(name: str) -> None:
    session = Session(ways.make(name), bundle.build(), AgentSettings(python=PYTHON), reconnect=False)
    await session.open()
    await session.close()


async def _bulk(log: Path) -> None:
    print(f"\na log of {LINES:,} lines, {SIZE / 1e6:.0f} MB: lines/s, and MB/s")
    for name in ways.ALL:
        async with way(name) as transport:
            channel = await transport.open(["cat", str(log)])
            started = time.perf_counter()
            whole = len(await everything(channel)) == SIZE
            _rate(f"{name} raw", time.perf_counter() - started, whole=whole)
            channel.close()
        session = Session(ways.make(name), bundle.build(), AgentSettings(python=PYTHON), reconnect=False)
        await session.open()
        started = time.perf_counter()
        got = 0
        async for part in Agent(session, "bench@here").follow(str(log)):
            got += len(part.data)
            if got >= SIZE:
                break
        _rate(f"{name} agent", time.perf_counter() - started, whole=got == SIZE)
        await session.close()


def _rate(name: str, seconds: float, *, whole: bool) -> None:
    told = "" if whole else "   INCOMPLETE"
    print(f"{name:<24} {LINES / seconds:12,.0f} {SIZE / seconds / 1e6:8.0f}{told}")


if __name__ == "__main__":
    main()
