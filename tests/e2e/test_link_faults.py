"""A network that cuts, swallows, delays and stalls before a real sshd: nothing is lost, doubled or left behind.

With SPEC_CONSOLE_FULL=1 the storm has 100 cuts, and the heartbeat its own times.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import random
import signal
import subprocess
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from console import paths, yaml_file
from console.actions import free_gpus, launch_server, run_probe
from console.cli._nodes import make_node
from console.cli._shared import Options
from console.demo.setup import prepare
from console.node.free_plan import FreeRequest
from console.remote import backoff, heartbeat
from console.remote import session as session_module
from console.remote.in_flight import NotDone
from tests.agent.test_link import Clock
from tests.cli import PROGRAM, SMALL_LOAD, free_port
from tests.e2e import ways
from tests.e2e.proxy import Proxy, between
from tests.e2e.ways import FULL, NODE
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from console.actions.node import Node
    from console.remote.agent import Agent
    from tests.e2e.sshd import Sshd

pytestmark = pytest.mark.sshd

IS_FULL = os.environ.get("SPEC_CONSOLE_FULL") == "1"
CUTS = 100 if IS_FULL else 5
AFTER = (2_000, 20_000, 60_000, 300_000, 900_000)
"""Bytes after which a connection is cut: some while it logs in, some while it starts the agent, some in the flood."""
OPTIONS = Options("connect", as_json=False, yes=True, dry_run=False, readonly=False, accept_new_host_key=False)


@pytest.fixture
def network(sshd: Sshd) -> Iterator[Callable[..., Proxy]]:
    made: list[Proxy] = []

    def _network(**weather: float) -> Proxy:
        made.append(between(sshd, NODE, **weather))
        return made[-1]

    yield _network
    for proxy in made:
        proxy.stop()


def watched(agent: Agent) -> list[str]:
    states: list[str] = []
    agent.session.watch(lambda now: states.append(now.name))
    return states


def agents(home: Path) -> list[int]:
    """Pids of agents that serve from this home's cache."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                words = (folder / "cmdline").read_bytes().split(b"\0")
                if b"serve" in words and any(word.startswith(os.fsencode(home)) for word in words):
                    found.append(int(folder.name))
    return found


class Flood:
    """A log that grows by lines without a pause worth the name, until it is ended."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def _write(self) -> None:
        number = 0
        with self.path.open("wb", buffering=0) as file:
            while not self._over.wait(0.02):
                lines = (
                    b"[2026-02-20 10:00:00 TP0] Decode batch, number %09d of a flood\n" % (number + n)
                    for n in range(100)
                )
                file.write(b"".join(lines))
                number += 100

    def end(self) -> bytes:
        """Stop it; all that was written."""
        self._over.set()
        self._thread.join(10)
        return self.path.read_bytes()


async def read_all(agent: Agent, path: Path, got: bytearray) -> None:
    async for part in agent.follow(str(path)):
        assert part.offset == len(got), "a line was lost, or came twice"
        got += part.data


@pytest.fixture
async def node(sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Node]:
    """The embedded node's stand-ins behind the sshd."""
    demo = prepare(tmp_path / "demo")
    home = tmp_path / "console"
    (home / "config").mkdir(parents=True)
    entry = {
        "python": [demo.python],
        "variables": demo.variables,
        "env": {**demo.env, "SPEC_CONSOLE_DEMO_LOAD_S": "0.2"},
        "gpu_source": "smi",
        "nvidia_smi": str(demo.nvidia_smi),
        "lock_dir": str(tmp_path),
        "simulated": True,
        "sets": [f"port={free_port()}", *SMALL_LOAD],
    }
    (home / "config" / "nodes.yaml").write_text(yaml_file.dump({NODE: entry}))
    monkeypatch.setenv("SPEC_CONSOLE_HOME", str(home))
    made = make_node(NODE, OPTIONS, paths.locate(), reconnect=True)
    yield made
    await made.agent.session.close()
    made.journal.close()


async def storm(node: Node, proxy: Proxy, cuts: int) -> None:
    """Cut, each time after another number of bytes."""
    chance = random.Random(7)
    for _ in range(cuts):
        enough = proxy.passed + chance.choice(AFTER)
        await until(lambda enough=enough: proxy.passed >= enough, 60)
        while not proxy.cut():
            await asyncio.sleep(0.01)


async def again(work: Callable[[], Any]) -> Any:
    """As a person would who is told that nothing was begun."""
    while True:
        try:
            return await work()
        except NotDone:
            continue


async def launched_and_probed(node: Node) -> tuple[Any, Any]:
    plan = await launch_server.plan(node, "kimi-k2.5-eagle3", sets=("patches=[]",))
    launched = await again(lambda: launch_server.run(node, plan, lambda _line: None))
    probe = await run_probe.plan(node, launched.server.run_id)
    return launched, await again(lambda: run_probe.run(node, probe, lambda _line: None))


@pytest.mark.timeout(900)
async def test_a_storm_of_cuts_loses_no_line_and_hurts_neither_server_nor_probe(
    node, sshd, network, tmp_path, monkeypatch
):
    monkeypatch.setattr(backoff, "BACKOFF_S", (0.02, 0.05, 0.1))
    monkeypatch.setattr(session_module, "READ_TRIES", 1000)  # many connections here die before anything is answered
    proxy = network()
    session = node.agent.session
    await session.open()
    states, got = watched(node.agent), bytearray()
    flood = Flood(tmp_path / "flood.log")
    reading = asyncio.create_task(read_all(node.agent, flood.path, got))
    weather = asyncio.create_task(storm(node, proxy, CUTS))
    rounds = []
    try:
        while not rounds or not weather.done():
            launched, probed = await launched_and_probed(node)
            (run,) = await node.running()
            assert (run.run_id, run.child) == (launched.server.run_id, launched.server.child), "it is the same process"
            rounds.append(probed)
            if not weather.done():
                plan = await free_gpus.plan(node, FreeRequest(grace_s=10.0))
                await free_gpus.run(node, plan, lambda _line: None)
                await until_none_runs(node)
        await weather
        written = flood.end()
        await until(lambda: len(got) >= len(written) or reading.done(), 60)
    finally:
        flood.end()
        weather.cancel()
        reading.cancel()
        await asyncio.gather(weather, reading, return_exceptions=True)
    assert bytes(got) == written
    assert states.count("connected") >= 1
    for probed in rounds:
        result = probed.run.result
        assert (result.valid, result.why, result.requests) == (True, "", 2)
        assert result.completion_tokens == 96
    assert len({probed.run.run_id for probed in rounds}) == len(rounds)
    assert {run.run_id for run in node.journal.list_runs()} == {probed.run.run_id for probed in rounds}
    assert len(await node.agent.probes()) == len(rounds), "none was started twice"
    plan = await free_gpus.plan(node, FreeRequest(grace_s=10.0))
    assert (await free_gpus.run(node, plan, lambda _line: None)).terminated
    await until_none_runs(node)
    await left_as_it_was(node, sshd, tmp_path)


async def until_none_runs(node: Node) -> None:
    async with asyncio.timeout(30):
        while await node.running():
            await asyncio.sleep(0.05)


async def left_as_it_was(node: Node, sshd: Sshd, lock_dir: Path) -> None:
    """No agent, no lock and no half file is left once the console has hung up."""
    await node.agent.session.close()
    await until(lambda: agents(sshd.home) == [])
    assert list(lock_dir.glob("*.lock")) == []
    cache = [path.name for path in (sshd.home / ".cache" / "spec-console").iterdir()]
    assert [Path(name).suffix for name in cache] == [".pyz"], cache
    state = sshd.home / ".local" / "state" / "spec-console"
    assert [path for path in state.rglob("*") if ".tmp" in path.name or path.suffix == ".part"] == []


@pytest.mark.parametrize("times", [(0.2, 1.0), pytest.param((5.0, 20.0), marks=FULL)], ids=["fast", "as it is"])
async def test_a_connection_that_died_without_a_word_is_found_by_the_heartbeat(
    sshd, network, tmp_path, monkeypatch, times
):
    every_s, lost_s = times
    monkeypatch.setattr(heartbeat, "HEARTBEAT_S", every_s)
    monkeypatch.setattr(heartbeat, "LOST_AFTER_S", lost_s)
    proxy = network()
    flood = Flood(tmp_path / "flood.log")
    try:
        async with ways.agent("asyncssh", reconnect=True) as agent:
            told: list[tuple[str, str]] = []
            agent.session.watch(lambda now: told.append((now.name, now.reason)))
            got, first = bytearray(), agent.hello.pid
            reading = asyncio.create_task(read_all(agent, flood.path, got))
            await until(lambda: len(got) > 100_000)
            assert proxy.swallow() == 1
            await until(lambda: told[-1:] == [("connected", "")] and agent.hello.pid != first, 60)
            names = [name for name, _ in told]
            assert names[0] == "heartbeat-missed"
            assert "reconnecting" in names
            assert dict(told)["reconnecting"].startswith("nothing heard for")
            written = flood.end()
            await until(lambda: len(got) >= len(written) or reading.done())
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            assert bytes(got) == written
    finally:
        flood.end()


SLOW = [
    pytest.param({"round_trip_s": 0.04}, id="40 ms"),
    pytest.param({"round_trip_s": 0.3}, id="300 ms", marks=FULL),
    pytest.param({"round_trip_s": 0.04, "stalls": 0.01}, id="40 ms, 1 % stalled", marks=FULL),
]


@pytest.mark.parametrize("weather", SLOW)
async def test_a_slow_network_is_only_slow(sshd, network, tmp_path, weather):
    network(**weather)
    log = tmp_path / "x.log"
    log.write_bytes(b"".join(b"line %09d of a log of three megabytes\n" % n for n in range(75_000)))
    async with ways.agent("asyncssh", reconnect=True) as agent:
        states, got = watched(agent), bytearray()
        async for part in agent.follow(str(log), until_eof=True):
            assert part.offset == len(got)
            got += part.data
        assert (await agent.facts()).uid == os.getuid()
    assert bytes(got) == log.read_bytes()
    assert states == ["disconnected"], "no heartbeat was missed on the way"


@pytest.mark.parametrize("stopped_s", [2.0, pytest.param(40.0, marks=FULL)])
def test_a_console_that_is_stopped_for_a_while_goes_on_where_it_was(sshd, network, tmp_path, stopped_s):
    """As by Ctrl-Z, or a laptop that is closed."""
    network()
    flood = Flood(tmp_path / "flood.log")
    home = {**os.environ, "SPEC_CONSOLE_HOME": str(tmp_path / "console")}
    command = [*PROGRAM, "logs", NODE, "--file", str(flood.path), "--follow", "--json"]
    with subprocess.Popen(command, env=home, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        try:
            found = [offset(process) for _ in range(500)]
            process.send_signal(signal.SIGSTOP)
            threading.Event().wait(stopped_s)  # what is tested is that time passes
            process.send_signal(signal.SIGCONT)
            written = flood.end().splitlines(keepends=True)
            there = [0, *itertools.accumulate(map(len, written))]
            # The last record is held back: a line that belongs to it may follow.
            while found[-1] < there[-3]:
                found.append(offset(process))
        finally:
            flood.end()
            process.kill()
            process.wait(10)
            for stream in (process.stdout, process.stderr):
                if stream:
                    stream.close()
    begin = there.index(found[0])
    assert found == there[begin : begin + len(found)], "a line was lost, or came twice"


def offset(process: subprocess.Popen[bytes]) -> int:
    """Where the next record that the console tells begins in its file."""
    assert process.stdout
    return int(json.loads(process.stdout.readline())["offset"])


async def test_a_laptop_that_slept_and_woke_in_another_network_is_back_at_once(sshd, network, monkeypatch):
    monkeypatch.setattr(heartbeat, "HEARTBEAT_S", 0.2)
    monkeypatch.setattr(heartbeat, "ANSWER_S", 0.5)
    proxy = network()
    async with ways.agent("asyncssh", reconnect=True) as agent:
        told: list[tuple[str, str]] = []
        agent.session.watch(lambda now: told.append((now.name, now.reason)))
        clock = agent.session._clock = Clock()
        await until(lambda: clock.read > 3)
        proxy.swallow()
        now, clock.slept_s = heartbeat.now(), 8 * 3600
        await until(lambda: told[-1:] == [("connected", "")])
        assert "this machine was away for 8 h 00 min" in dict(told)["reconnecting"]
        assert heartbeat.now().monotonic - now.monotonic < heartbeat.LOST_AFTER_S
        assert (await agent.facts()).uid == os.getuid()
