"""The console on a real embedded node of its own, and on a node that is never reached, for states to be forced."""

from __future__ import annotations

import asyncio
import socket
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest
from textual._styles_cache import StylesCache

from console import paths
from console.actions import free_gpus
from console.actions.node import Node
from console.cli._nodes import make_node
from console.cli._shared import Options
from console.config import NodeConfig
from console.errors import STARTED_READONLY
from console.launch.library import Library
from console.node.free_plan import FreeRequest
from console.remote.agent import Agent
from console.remote.session import Link
from console.store.journal import Journal
from console.tui.app import ConsoleApp
from console.tui.settings import Settings
from tests.tui.driver import Driver

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

    from remote_agent.protocol import Hello

OPTIONS = Options("connect", as_json=False, yes=False, dry_run=False, readonly=False, accept_new_host_key=False)
SMALL_PROBE = ("probe.blocks=2", "probe.requests_per_block=1", "probe.max_new_tokens=16", "probe.warmup=0")


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Textual remembers a thousand widgets of whatever app, with the lines that they drew: much to look through."""
    yield
    StylesCache.get_inner_outer.cache_clear()


@dataclass
class UnreachedSession:
    """A session whose first connect waits for `gate`, and then fails with `error` if there is one."""

    gate: asyncio.Event
    error: Exception | None = None
    link: Link = field(default_factory=lambda: Link("connecting"))
    hello: Hello | None = None
    opened: int = 0

    def watch(self, _watcher: Callable[[Link], None]) -> None:
        return None

    async def open(self) -> None:
        self.opened += 1
        await self.gate.wait()
        if self.error:
            raise self.error
        await asyncio.Event().wait()

    async def close(self) -> None:
        return None


@pytest.fixture
def session() -> UnreachedSession:
    return UnreachedSession(asyncio.Event())


@pytest.fixture
def unreached(tmp_path: Path, session: UnreachedSession) -> Callable[..., object]:
    """`async with unreached() as driver`: a console whose first connect is under way."""

    @asynccontextmanager
    async def _unreached() -> AsyncIterator[Driver]:
        def make() -> Node:
            agent = Agent(session, "me@here")  # type: ignore[arg-type]
            library = Library((tmp_path / "profiles",))
            return Node("gpu-node-1", NodeConfig(), agent, library, Journal(tmp_path / "runs.sqlite3"))

        app = ConsoleApp("gpu-node-1", make)
        async with app.run_test(size=(160, 50), notifications=True) as pilot:
            driver = Driver(app, pilot)
            await driver.until(lambda: session.opened == 1)
            yield driver

    return _unreached


@pytest.fixture
def forced(monkeypatch: pytest.MonkeyPatch) -> Callable[..., object]:
    """`async with forced(size) as driver`: a console that never connects; only what the test tells has happened."""
    monkeypatch.setattr(ConsoleApp, "connect", lambda _app, _node: None)

    @asynccontextmanager
    async def _forced(size: tuple[int, int] = (160, 50), settings: Settings | None = None) -> AsyncIterator[Driver]:
        app = ConsoleApp("gpu-node-1", lambda: pytest.fail("no node is wanted"), settings=settings)
        async with app.run_test(size=size, notifications=True) as pilot:
            yield Driver(app, pilot)

    return _forced


@dataclass
class Demo:
    """An embedded node in a folder of its own, on a port of its own."""

    home: Path
    port: int

    def make(self, *, readonly: bool = False) -> Node:
        node = make_node("demo", replace(OPTIONS, readonly=readonly), paths.locate(), reconnect=True)
        sets = (f"port={self.port}", "host=127.0.0.1", *SMALL_PROBE)
        return replace(node, config=node.config.model_copy(update={"sets": sets}))

    @asynccontextmanager
    async def open(self, size: tuple[int, int] = (160, 50), *, readonly: bool = False) -> AsyncIterator[Driver]:
        """The console on this node, connected and with everything read once."""
        made: list[Node] = []

        def make() -> Node:
            made.append(self.make(readonly=readonly))
            return made[0]

        settings = Settings(readonly=STARTED_READONLY if readonly else "")
        app = ConsoleApp("demo", make, simulated=True, settings=settings)
        async with app.run_test(size=size, notifications=True) as pilot:
            driver = Driver(app, pilot)
            await driver.until(lambda: bool(app.state.node.facts and app.state.profiles.found))
            driver.node = made[0]
            yield driver

    async def end_servers(self) -> None:
        node = self.make()
        await node.agent.session.open()
        try:
            plan = await free_gpus.plan(node, FreeRequest(grace_s=5.0))
            await free_gpus.run(node, plan, lambda _line: None)
            assert not await node.running()
        finally:
            await node.agent.session.close()
            node.journal.close()


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Demo]:
    monkeypatch.setenv("SPEC_CONSOLE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SPEC_CONSOLE_DEMO_LOAD_S", "0.1")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    found = Demo(tmp_path / "home", port)
    yield found
    if list(found.home.rglob("run.json")):
        asyncio.run(found.end_servers())
