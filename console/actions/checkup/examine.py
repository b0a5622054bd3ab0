"""The whole course of the doctor on one node: log in, look without an agent, start the agent, look with it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from console.actions import connection
from console.actions.checkup import account, facts_script, inside, link, login
from console.actions.checkup.check import Check
from console.actions.checkup.talk import Silent, talk
from console.remote.bootstrap import PYTHONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.actions.checkup.check import Tell
    from console.actions.checkup.facts_script import Facts
    from console.actions.connection import Connected
    from console.actions.node import Node
    from console.remote.transport import Channel, Transport

LOOK_S = 45.0
"""For the look at the account: shims of version switchers and homes on NFS are slow."""


class _Open:
    """A transport that is connected already: the session must not log in a second time."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.name = transport.name

    async def connect(self) -> None:
        return None

    async def open(self, argv: Sequence[str]) -> Channel:
        return await self._transport.open(argv)

    async def close(self) -> None:
        await self._transport.close()


async def examine(node: Node, tell: Tell) -> Connected | None:
    """Tell each check as it is made; return what the connection is like, None where it is not worth an agent.

    Raises:
        Unreachable: there was no login, or no command could be started.
        AgentStartFailed: everything up to the agent was told.
    """
    session = node.agent.session
    transport, started = session.transport, time.perf_counter()
    await _log_in(node, transport, tell)
    reached_s = time.perf_counter() - started
    passes = True
    async for check in link.checks(transport, node.config.exec_prefix):
        tell(check)
        passes = passes and check.state != "bad"
    if not passes:
        tell(Check("agent", "unknown", "not started: what the connection does with its first messages is told above"))
        return None
    facts = await _look(node, transport, tell)
    session.transport = _Open(transport)
    started = time.perf_counter()
    await session.open()
    connected = await connection.connected(node, reached_s + time.perf_counter() - started)
    for check in connected.checks():
        tell(check)
    async for check in inside.checks(node, facts):
        tell(check)
    return connected


async def _log_in(node: Node, transport: Transport, tell: Tell) -> None:
    with login.watched(transport) as heard:
        try:
            await transport.connect()
        finally:
            for check in login.checks(transport, login.logins(transport, heard, node.name)):
                tell(check)


async def _look(node: Node, transport: Transport, tell: Tell) -> Facts:
    pythons = tuple(dict.fromkeys((*node.config.python, *PYTHONS)))
    script = facts_script.script(pythons, node.config.cache_dir)
    noise = b""
    try:
        async with talk(transport, node.config.exec_prefix, script) as talking:
            noise = talking.noise
            facts = facts_script.read(await talking.rest(LOOK_S))
    except Silent as error:
        tell(Check("account", "unknown", f"it could not be looked at: {error.message}"))
        return facts_script.Facts()
    for check in account.checks(facts, noise):
        tell(check)
    return facts
