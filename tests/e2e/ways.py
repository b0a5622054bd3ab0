"""The transports by name, and how tests use one."""

from __future__ import annotations

import asyncio
import importlib
import os
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from console.remote import bundle
from console.remote.agent import Agent
from console.remote.bootstrap import AgentSettings
from console.remote.connect import _SSH
from console.remote.session import Session
from console.remote.transports import ssh_config
from console.remote.transports.local import LocalTransport
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from console.remote.transport import Channel, Transport
    from tests.e2e.sshd import Sshd

NODE = "gpu-node-1"
SSH = ("asyncssh", "openssh", "paramiko")
ALL = (*SSH, "local")
LIMIT_S = 30.0

FULL = pytest.mark.skipif(os.environ.get("SPEC_CONSOLE_FULL") != "1", reason="every transport: SPEC_CONSOLE_FULL=1")


def by(*default: str, others: Sequence[str] = SSH) -> pytest.MarkDecorator:
    """Run a test over these transports, and with SPEC_CONSOLE_FULL=1 over all of `others`."""
    more = [pytest.param(name, marks=FULL) for name in others if name not in default]
    return pytest.mark.parametrize("name", [*default, *more])


def make(name: str, host: str = NODE, **options: Any) -> Transport:
    if name == "local":
        return LocalTransport()
    module, _, kind = _SSH[name].partition(".")
    made: Transport = getattr(importlib.import_module(f"console.remote.transports.{module}"), kind)(host, **options)
    return made


@asynccontextmanager
async def way(name: str, host: str = NODE, **options: Any) -> AsyncIterator[Transport]:
    """A connected transport."""
    transport = make(name, host, **options)
    try:
        async with asyncio.timeout(LIMIT_S):
            await transport.connect()
        yield transport
    finally:
        await transport.close()


@asynccontextmanager
async def agent(name: str, host: str = NODE, *, reconnect: bool = False, **settings: Any) -> AsyncIterator[Agent]:
    """The agent at the end of a way."""
    # Named, because a search may go through the shims of a version switcher, which are slow.
    settings = {"python": sys.executable, **settings}
    session = Session(make(name, host), bundle.build(), AgentSettings(**settings), reconnect=reconnect)
    try:
        await session.open()
        yield Agent(session, "tester@here")
    finally:
        await session.close()


async def outcome(transport: Transport, argv: Sequence[str], data: bytes = b"") -> tuple[int | None, bytes, bytes]:
    """Run a command to its end: status, output, error output."""
    channel = await transport.open(argv)
    try:
        async with asyncio.timeout(LIMIT_S):
            output, errors, _ = await asyncio.gather(
                everything(channel), everything(channel, errors=True), _send(channel, data)
            )
            return await channel.wait(), output, errors
    finally:
        channel.close()


async def forget(sshd: Sshd) -> None:
    """Wait until no connection to the server is kept for later: the next one begins anew."""
    sshd.cut()
    folder = sshd.runtime / "spec-console"
    await until(lambda: not folder.is_dir() or not any(ssh_config.answers(path) for path in folder.iterdir()))


async def everything(channel: Channel, *, errors: bool = False) -> bytes:
    parts = []
    while part := await (channel.read_error if errors else channel.read)(1 << 16):
        parts.append(part)
    return b"".join(parts)


async def _send(channel: Channel, data: bytes) -> None:
    if data:
        await channel.write(data)
    channel.write_eof()
