"""A link over its breaks, on this machine: what becomes of calls, of changes under way, and what a new hello tells."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import subprocess
import sys
import zipfile
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from console.errors import NegativeResult, NodeLost
from console.remote import backoff, bundle, heartbeat, in_flight
from console.remote.agent import Agent
from console.remote.bootstrap import AgentSettings
from console.remote.bundle import Bundle
from console.remote.connection import Connection
from console.remote.heartbeat import Moment
from console.remote.session import Session
from console.remote.transports.failures import NotLetIn
from console.remote.transports.local import LocalTransport
from remote_agent.protocol import LaunchRequest
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from console.remote.transports.process_channel import ProcessChannel

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]
ROOT = Path(__file__).parents[2]


class Clock:
    """The clocks of a machine that a test sends to sleep."""

    slept_s = 0.0
    read = 0

    def __call__(self) -> Moment:
        self.read += 1
        now = heartbeat.now()
        return Moment(now.monotonic, now.wall + self.slept_s)


@pytest.fixture
def link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """`async with link() as agent`: one that reconnects at once."""
    monkeypatch.setattr(backoff, "BACKOFF_S", (0.01,))

    @asynccontextmanager
    async def _link(
        prefix: tuple[str, ...] = (),
        clock: Callable[[], Moment] = heartbeat.now,
        zipped: Bundle | None = None,
        transport: LocalTransport | None = None,
    ) -> AsyncIterator[Agent]:
        args = ("--state-dir", str(tmp_path / "state"), "--lock-dir", str(tmp_path), "--gpu-source", "none")
        settings = AgentSettings(sys.executable, prefix, str(tmp_path / "cache"), args)
        way = transport or LocalTransport()
        session = Session(way, zipped or bundle.build(), settings, reconnect=True, clock=clock)
        await session.open()
        try:
            yield Agent(session, "tester@here")
        finally:
            await session.close()

    return _link


def watched(agent: Agent) -> list[str]:
    states: list[str] = []
    agent.session.watch(lambda now: states.append(now.name))
    return states


def end(pid: int) -> None:
    """What the kernel does when memory runs out, to the agent whose pid this is."""
    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    assert b"serve" in words
    os.kill(pid, signal.SIGKILL)


async def test_a_reading_that_the_link_broke_under_is_asked_again(link):
    async with link() as agent:
        states, first = watched(agent), agent.hello.pid
        end(first)
        assert (await agent.facts()).uid == os.getuid()
        assert agent.hello.pid != first
        assert states == ["reconnecting", "connected"]
        assert agent.session.meanwhile == "", "an agent that was killed is no news of the node"


@pytest.mark.slow
async def test_an_agent_that_memory_runs_out_for_costs_no_line_of_a_log(link, tmp_path):
    log = tmp_path / "x.log"
    content = b"".join(b"line %d of many\n" % n for n in range(200_000))
    log.write_bytes(content)
    async with link() as agent:
        got, killed = b"", {0}
        async for part in agent.follow(str(log)):
            assert part.offset == len(got)
            got += part.data
            if len(killed) < 3 and len(got) > 500_000 * len(killed) and agent.hello.pid not in killed:
                killed.add(agent.hello.pid)
                end(agent.hello.pid)
            if len(got) == len(content):
                break
    assert len(killed) == 3
    assert got == content


async def test_a_machine_that_slept_keeps_a_connection_that_survived_it(link, monkeypatch):
    monkeypatch.setattr(heartbeat, "HEARTBEAT_S", 0.05)
    monkeypatch.setattr(heartbeat, "SOON_S", 0.02)
    clock = Clock()
    async with link(clock=clock) as agent:
        told: list[tuple[str, str]] = []
        agent.session.watch(lambda now: told.append((now.name, now.reason)))
        first = agent.hello.pid
        await until(lambda: clock.read > 3)
        clock.slept_s = 3 * 3600
        await until(lambda: told[-1:] == [("connected", "")])
        assert ("heartbeat-missed", "this machine was away for 3 h 00 min") in told
        assert agent.hello.pid == first


class Swallowing(LocalTransport):
    """A way whose far end is not told that we hung up."""

    def __init__(self) -> None:
        super().__init__()
        self._left: list[ProcessChannel] = []

    async def close(self) -> None:
        self._left, self._channels = self._left + self._channels, []

    async def clear(self) -> None:
        self._channels = self._left
        await super().close()


@asynccontextmanager
async def frozen(agent: Agent) -> AsyncIterator[None]:
    """The agent as on a node that is not heard: nobody ends it, and it says nothing."""
    way, pid = agent.session.transport, agent.hello.pid
    assert isinstance(way, Swallowing)
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)
        await agent.session.close()
        await way.clear()


@pytest.mark.slow
async def test_a_machine_that_slept_gives_up_a_dead_connection_long_before_the_heartbeat_would(link, monkeypatch):
    monkeypatch.setattr(heartbeat, "HEARTBEAT_S", 0.05)
    monkeypatch.setattr(heartbeat, "ANSWER_S", 0.2)
    clock = Clock()
    async with link(clock=clock, transport=Swallowing()) as agent, frozen(agent):
        told: list[tuple[str, str]] = []
        agent.session.watch(lambda now: told.append((now.name, now.reason)))
        await until(lambda: clock.read > 3)
        clock.slept_s = 60
        await until(lambda: "reconnecting" in [name for name, _ in told])
        reason = dict(told)["reconnecting"]
        assert reason == "this machine was away for 1 min 00 s, and nothing was heard since"


@pytest.mark.slow
async def test_an_agent_that_keeps_dying_is_not_started_in_a_rush(link, monkeypatch):
    """Each of its lives is too short to count: the waits go on growing."""
    asked: list[float] = []

    def waits(_random: object) -> Any:
        for wait_s in (0.0, 0.01, 0.02):
            asked.append(wait_s)
            yield wait_s

    monkeypatch.setattr(backoff, "waits", waits)
    async with link() as agent:
        for lives in (1, 2, 3):
            pid = agent.hello.pid
            end(pid)
            await until(lambda pid=pid: agent.hello.pid != pid)
            assert len(asked) == lives
    assert asked == [0.0, 0.01, 0.02]


class Guarded(LocalTransport):
    """A way that is closed to us after the first time."""

    connects = 0

    async def connect(self) -> None:
        self.connects += 1
        if self.connects > 1:
            raise NotLetIn("gpu-node-1 refused us: no key is left")


async def test_a_node_that_does_not_let_us_in_any_more_is_not_asked_again_and_again(link):
    way = Guarded()
    async with link(transport=way) as agent:
        end(agent.hello.pid)
        await until(lambda: agent.session.link.name == "disconnected")
        assert agent.session.link.reason == "gpu-node-1 refused us: no key is left"
        with pytest.raises(NodeLost):
            await agent.facts()
    assert way.connects == 2


def other(zipped: Bundle) -> Bundle:
    """The agent of another release."""
    data = io.BytesIO(zipped.data)
    with zipfile.ZipFile(data, "a") as archive:
        archive.comment = b"another release"
    return Bundle(data.getvalue(), sha256(data.getvalue()).hexdigest())


@pytest.mark.slow
async def test_a_newer_console_that_brings_its_own_agent_disturbs_nobody(link, tmp_path):
    ours = bundle.build()
    async with link() as agent:
        async with link(zipped=other(ours)) as newer:
            assert (newer.session.uploaded, newer.hello.sha256) == (True, other(ours).sha256)
            end(agent.hello.pid)
            assert (await agent.facts()).uid == os.getuid()
            assert (agent.session.uploaded, agent.hello.sha256) == (False, ours.sha256)
        for cached in (tmp_path / "cache").iterdir():  # it took the old ones away when it went
            cached.unlink()
        end(agent.hello.pid)
        assert (await agent.facts()).uid == os.getuid()
        assert (agent.session.uploaded, agent.hello.sha256) == (True, ours.sha256)


def breaking(
    monkeypatch: pytest.MonkeyPatch, method: str, *, sent: bool, meanwhile: Callable[[], None] = lambda: None
) -> None:
    """Let the link break at the first call of a method: before it left, or just after."""
    write, is_over = Connection._write, False

    async def cut(self: Any, line: bytes) -> None:
        nonlocal is_over
        if is_over or f'"{method}"'.encode() not in line:
            await write(self, line)
            return
        is_over = True
        if sent:
            await write(self, line)
        meanwhile()
        self.abort("cut by the test")

    monkeypatch.setattr(Connection, "_write", cut)


def asked(tmp_path: Path) -> LaunchRequest:
    return LaunchRequest(SLEEP, {}, str(tmp_path / "server.log"), 1, "tester@here", record={"profile": {"name": "p"}})


async def stopped(agent: Agent) -> None:
    for run in await agent.servers():
        await agent.stop_server(run.run_id, 5.0, lambda _progress: None)


async def test_a_launch_whose_answer_was_lost_is_found_by_its_mark_and_made_once(link, tmp_path, monkeypatch):
    breaking(monkeypatch, "servers.launch", sent=True)
    async with link() as agent:
        first = agent.hello.pid
        run = await agent.launch(asked(tmp_path))
        assert agent.hello.pid != first
        assert (run.state, run.record["profile"]) == ("running", {"name": "p"})
        assert [each.run_id for each in await agent.servers()] == [run.run_id]
        await stopped(agent)


async def test_a_launch_that_never_left_is_told_as_not_done_and_not_made(link, tmp_path, monkeypatch):
    breaking(monkeypatch, "servers.launch", sent=False)
    async with link() as agent:
        with pytest.raises(NegativeResult, match="nothing was begun"):
            await agent.launch(asked(tmp_path))
        assert await agent.servers() == []


@pytest.mark.slow
async def test_while_the_old_agent_may_still_be_at_it_nobody_knows(link, tmp_path, monkeypatch):
    monkeypatch.setattr(in_flight, "SETTLE_S", 0.3)
    breaking(monkeypatch, "servers.launch", sent=False)
    async with link(transport=Swallowing()) as agent, frozen(agent):
        with pytest.raises(NodeLost, match="whether it was done is not known") as caught:
            await agent.launch(asked(tmp_path))
        assert caught.value.exit_code == 7
        assert agent.session.link.name == "connected", "the link itself is back"


@pytest.mark.slow
@pytest.mark.parametrize("outcome", ["alive", "gone"])
async def test_a_stop_whose_answer_was_lost_is_read_again(link, tmp_path, monkeypatch, outcome):
    async with link() as agent:
        run = await agent.launch(asked(tmp_path))

        def meanwhile() -> None:
            if outcome == "gone":
                os.kill(run.child.pid, signal.SIGKILL)

        breaking(monkeypatch, "servers.stop", sent=False, meanwhile=meanwhile)
        results = (await agent.stop_server(run.run_id, 5.0, lambda _progress: None)).results
        assert [(each.pid, each.outcome) for each in results] == [(run.child.pid, outcome)]
        assert all("read again" in each.reason for each in results)
        await stopped(agent)
        assert [each.state for each in await agent.servers()] == ["exited"]


UNSHARE = ("unshare", "--mount", "sh", "-c")
BIND = 'mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"'


def can_unshare() -> bool:
    tried = subprocess.run([*UNSHARE, "true"], capture_output=True, check=False) if os.geteuid() == 0 else None
    return tried is not None and tried.returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(not can_unshare(), reason="another boot id needs root and a mount namespace")
async def test_after_a_reboot_nothing_of_before_is_taken_for_running_or_signalled(link, tmp_path):
    boot = tmp_path / "boot_id"
    boot.write_text("11111111-1111-4111-8111-111111111111\n")
    async with link(prefix=(*UNSHARE, BIND, str(boot))) as agent:
        run = await agent.launch(asked(tmp_path))
        assert run.state == "running"
        try:
            boot.write_text("22222222-2222-4222-8222-222222222222\n")
            end(agent.hello.pid)
            (found,) = await agent.servers()
            assert agent.session.meanwhile == "the node was restarted: what ran there has ended"
            assert (found.run_id, found.state, found.children) == (run.run_id, "lost", [])
            results = (await agent.stop_server(run.run_id, 1.0, lambda _progress: None)).results
            assert [each.outcome for each in results if each.outcome in ("terminated", "killed")] == []
            assert Path(f"/proc/{run.child.pid}").exists(), "who has that pid now is somebody else"
        finally:
            boot.write_text("11111111-1111-4111-8111-111111111111\n")
            end(agent.hello.pid)
            await stopped(agent)


def test_an_agent_that_nobody_talks_to_ends_by_itself(tmp_path):
    """sshd does not tell it for hours that a link has died without a word."""
    code = (
        "import sys; from remote_agent import silence, start; silence.SILENT_S = 0.3; "
        "sys.exit(start.main(['--state-dir', sys.argv[1], '--lock-dir', sys.argv[1], '--gpu-source', 'none']))"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=pipe, stdout=pipe, stderr=pipe, cwd=ROOT
    ) as process:
        assert process.stdout
        assert b"agent.hello" in process.stdout.readline()
        assert process.wait(20) == 0


@pytest.mark.slow
async def test_a_call_that_waits_for_a_link_is_sent_when_there_is_one(link, tmp_path):
    """It was never sent: that is no repetition."""
    async with link() as agent:
        agent.session.break_link()
        run = await agent.launch(asked(tmp_path))
        assert [each.run_id for each in await agent.servers()] == [run.run_id]
        await stopped(agent)


@pytest.mark.slow
async def test_a_reading_is_not_waited_for_without_end(link, monkeypatch):
    from console.remote import session

    monkeypatch.setattr(session, "RESUME_S", 0.1)
    monkeypatch.setattr(backoff, "BACKOFF_S", (60.0,))
    async with link() as agent:
        agent.session.break_link()
        async with asyncio.timeout(20):
            with pytest.raises(NodeLost, match="the link was dropped on request"):
                await agent.facts()
