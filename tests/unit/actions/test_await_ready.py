"""A launch that another process's port stands in the way of is said at once, not after the whole ready timeout."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from console.actions import await_ready
from console.errors import ServerDied
from remote_agent.protocol import HttpReply, Identity, LogPlace, PortFacts, ProcessInfo, ServerRun

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

OWN, OTHER = Identity(10, 1, "boot"), Identity(99, 1, "boot")
LOADED = "[2026-11-30 10:00:01] INFO:     Application startup complete.\n"
UNBOUND = (
    "[2026-11-30 10:00:02] ERROR:    [Errno 98] error while attempting to bind on address ('127.0.0.1', 8000): "
    "address already in use\n"
)
READY = "[2026-11-30 10:00:03] The server is fired up and ready to roll!\n"
CRASHED = """[2026-11-30 10:00:02 TP0] Scheduler hit an exception: Traceback (most recent call last):
ValueError: no
[2026-11-30 10:00:02] SIGQUIT received. signum=None, frame=None. It usually means one child failed.
"""
HUNG = ServerRun("s-1", "me@here", ["python"], {}, "/", "/l", 0, 8000, 1.0, "running", child=OWN)


@dataclass
class Node:
    """Stands for a node: a log that was written, a run, and who holds the port. What it says is the test's."""

    log: str
    holder: Identity
    runs: list[ServerRun] = field(default_factory=lambda: [HUNG])
    status: int = 0
    name: str = "n1"

    @property
    def agent(self) -> Node:
        return self

    async def run_of(self, _run_id: str) -> ServerRun:
        return self.runs.pop(0) if len(self.runs) > 1 else self.runs[0]

    async def http(self, _port: int, _path: str) -> HttpReply:
        return HttpReply(self.status, "", "", 0.0)

    async def port(self, port: int) -> PortFacts:
        return PortFacts(port, False, "", [process(self.holder)])

    async def log_place(self, _run_id: str, path: str) -> LogPlace:
        return LogPlace(path)

    async def follow(self, *_where: object, until_eof: bool, **_more: object) -> AsyncGenerator[SimpleNamespace]:
        yield SimpleNamespace(offset=0, reset="", lost=0, data=self.log.encode(), position="")
        if not until_eof:
            await asyncio.Event().wait()


def process(identity: Identity) -> ProcessInfo:
    return ProcessInfo(identity, 1, 1, 1, 0, "root", "holder", ["holder"], "S", 5.0, "/tmp")


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(await_ready, "POLL_S", 0.0)
    monkeypatch.setattr(await_ready, "PORT_LINGER_S", 0.0)
    monkeypatch.setattr(await_ready, "LINGER_S", 0.0)


def launched(node: Node) -> tuple[await_ready.LaunchOutcome | ServerDied, list[str]]:
    said: list[str] = []

    async def wait() -> await_ready.LaunchOutcome | ServerDied:
        server = replace(node.runs[0], started_at=2e9)  # the ready timeout is far away
        try:
            outcome = await_ready.follow_until_ready(node, server, None, said.append)  # type: ignore[arg-type]
            return await asyncio.wait_for(outcome, 20)
        except ServerDied as error:
            return error

    return asyncio.run(wait()), said


def test_a_bind_that_failed_is_the_end_though_the_process_goes_on_waiting() -> None:
    """SGLang joins its warm-up's thread, which waits for the holder that accepts and never answers."""
    died, said = launched(Node(LOADED + UNBOUND, OTHER))
    assert isinstance(died, ServerDied)
    assert "address already in use; port 8000 is held by pid 99 holder" in died.message
    assert "its process is still there" in died.message
    assert "`stop n1 --server s-1` ends it" in died.hint
    assert died.findings[0]["rule"] == "port-in-use"
    assert any("port 8000 is held by pid 99 holder" in line for line in said), "said before anything is loaded"


def test_a_server_that_died_of_its_port_names_the_holder() -> None:
    died, _ = launched(Node(UNBOUND, OTHER, [HUNG, replace(HUNG, state="exited", exit_code=3, child=None)]))
    assert isinstance(died, ServerDied)
    assert "(exit code 3)" in died.message
    assert "port 8000 is held by pid 99 holder" in died.message


def test_an_answer_of_another_process_is_not_taken_for_ready() -> None:
    """SGLang's warm-up may find the other server, and print that it is ready itself."""
    died, _ = launched(Node(READY, OTHER, status=200))
    assert isinstance(died, ServerDied)
    assert "s-1 is not what answers: port 8000 is held by pid 99" in died.message
    assert [each["rule"] for each in died.findings] == ["port-in-use"]


def test_the_failed_bind_behind_the_ready_line_is_what_is_told() -> None:
    died, _ = launched(Node(READY + UNBOUND, OTHER, status=200))
    assert isinstance(died, ServerDied)
    assert "address already in use; port 8000 is held by pid 99" in died.message


def test_ones_own_port_is_ready() -> None:
    ready, said = launched(Node(READY, OWN, status=200))
    assert isinstance(ready, await_ready.LaunchOutcome)
    assert not any("held by" in line for line in said)


def test_a_death_that_its_process_outlives_is_said_too() -> None:
    died, _ = launched(Node(CRASHED, OWN))
    assert isinstance(died, ServerDied)
    assert "its process is still there" in died.message
