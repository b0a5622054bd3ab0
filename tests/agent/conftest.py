"""The real agent zip over pipes, on every Python that it promises to run on and that this machine has."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from console.remote import bundle
from console.remote.agent import Agent
from console.remote.bootstrap import AgentSettings
from console.remote.session import Session
from console.remote.transports.local import LocalTransport
from tests.pythons import PYTHONS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path


@pytest.fixture(params=PYTHONS, ids=lambda path: path.rsplit("/", 1)[-1])
def python(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def connect(connect_in: Callable[[Path], Callable[..., object]], tmp_path: Path) -> Callable[..., object]:
    """`async with connect(*agent_args, prefix=(...)) as agent`: an agent with its own cache, state and lock."""
    return connect_in(tmp_path)


@pytest.fixture
def connect_in(tmp_path: Path, python: str) -> Callable[[Path], Callable[..., object]]:
    """The same, with state and lock in a folder of choice."""

    def _in(folder: Path) -> Callable[..., object]:
        @asynccontextmanager
        async def _connect(*args: str, reconnect: bool = False, prefix: tuple[str, ...] = ()) -> AsyncIterator[Agent]:
            own = ("--state-dir", str(folder / "state"), "--lock-dir", str(folder), "--gpu-source", "none")
            settings = AgentSettings(
                python=python, exec_prefix=prefix, cache_dir=str(tmp_path / "cache"), args=(*own, *args)
            )
            session = Session(LocalTransport(), bundle.build(), settings, reconnect=reconnect)
            await session.open()
            try:
                yield Agent(session, "tester@here")
            finally:
                await session.close()

        return _connect

    return _in
