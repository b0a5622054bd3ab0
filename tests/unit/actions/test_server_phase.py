"""How far a server is: its log's phase while its process is there, read from as little of the log as tells it."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from console.actions import server_phase
from console.logs.phases import Cause, LaunchPhase
from console.node.server_runs import phase_of
from console.remote.node_errors import console_error
from remote_agent.protocol import AgentError, LogPlace, ServerRun

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

RUN = ServerRun("s-1", "me@here", [], {}, "/", "/l", 0, 8000, 1.0, "running")
HEAD = "[2026-11-30 10:00:0{}] "
LOADING = HEAD.format(1) + "Load weight begin. avail mem=10.00 GB\n"
GRAPHS = HEAD.format(2) + "Capture cuda graph begin. This can take up to several minutes. avail mem=16.57 GB\n"
READY = HEAD.format(3) + "The server is fired up and ready to roll!\n"
NOISE = "a line that no parser knows\n" * 40
DRAINS = HEAD.format(9) + ("SIGTERM received. signum=None frame=None. Draining requests and shutting down...\n")


@dataclass
class Node:
    """Stands for a node with one log, which it reads and searches as the agent does."""

    log: str = ""
    kind: str = ""
    read: int = 0
    name: str = "n1"

    @property
    def agent(self) -> Node:
        return self

    async def log_place(self, _run_id: str, path: str) -> LogPlace:
        return LogPlace(path if self.kind != "taken" else "", "s-2")

    async def tail(self, _path: str, _lines: int) -> SimpleNamespace:
        if self.kind:
            raise console_error(AgentError(self.kind, f"{self.kind}!"))
        return SimpleNamespace(size=len(self.log))

    async def follow(self, _path: str, offset: int, *, resume: str, until_eof: bool) -> AsyncGenerator[SimpleNamespace]:
        assert until_eof
        for place in range(offset, len(self.log), 100):
            data = self.log[place : place + 100].encode()
            self.read += len(data)
            yield SimpleNamespace(offset=place, reset="", lost=0, data=data, position="")

    async def search(
        self, _path: str, pattern: object, *, start: int, **_more: object
    ) -> AsyncGenerator[SimpleNamespace]:
        found = re.search(r"[^\n]*fired up[^\n]*", self.log[start:])
        hits = [SimpleNamespace(offset=start + found.start(), data=found[0].encode())] if found else []
        yield SimpleNamespace(hits=hits)


def words(node: Node, run: ServerRun = RUN) -> str:
    return asyncio.run(server_phase.read(node, run)).words  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("log", "told"),
    [
        ("", "starting"),
        (LOADING, "loading weights"),
        (LOADING + GRAPHS, "capturing graphs target"),
        (LOADING + READY + NOISE, "ready since 2026-11-30 10:00:03"),
        (LOADING + READY + DRAINS, "stopping draining"),
    ],
)
def test_the_phase_of_a_living_server_is_its_logs(log: str, told: str) -> None:
    assert words(Node(log)) == told


@pytest.mark.parametrize(
    ("log", "told"),
    [
        (LOADING + READY + NOISE * 9, "ready since 2026-11-30 10:00:03"),
        (LOADING + NOISE * 4 + READY + NOISE * 5, "ready since 2026-11-30 10:00:03"),
        (LOADING + NOISE * 9, "loading weights"),
        (LOADING + READY + NOISE * 9 + DRAINS, "stopping draining"),
    ],
)
def test_of_a_long_log_only_its_ends_are_read(monkeypatch: pytest.MonkeyPatch, log: str, told: str) -> None:
    monkeypatch.setattr(server_phase, "BEGIN", 600)
    monkeypatch.setattr(server_phase, "END", 400)
    node = Node(log)
    assert words(node) == told
    assert node.read < 1500 < len(log)


def test_a_log_that_is_not_there_yet_is_starting_and_one_that_cannot_be_read_is_unknown() -> None:
    assert words(Node(kind="not_found")) == "starting"
    assert words(Node(kind="permission")) == "unknown (permission!)"
    assert words(Node(LOADING, kind="taken")) == "unknown (its log /l was moved or replaced by server s-2)"


def test_of_a_server_that_is_gone_the_log_is_not_asked() -> None:
    """A killed launcher leaves a log that ends at ready."""
    killed, lost = replace(RUN, state="exited", exit_signal=9), replace(RUN, state="lost")
    assert words(Node(LOADING + READY), killed) == "exited (signal 9)"
    assert words(Node(LOADING + READY), lost) == "lost (gone without an exit record)"
    assert phase_of(killed, LaunchPhase("ready")).name == "exited"
    died = phase_of(killed, LaunchPhase("died", "while loading", Cause("oom", "out of memory", 0, None)))
    assert (died.name, died.detail) == ("died", "while loading")
