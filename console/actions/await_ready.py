"""Follow a launched server from its log until it is ready or dead."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from console.actions import read_log
from console.actions.explain_log import of_history
from console.actions.judging import tp_size_of
from console.errors import Refused, ServerDied
from console.launch.asked import read as read_asked
from console.lint.context import Launch
from console.lint.rules import port_in_use
from console.logs.history import LogHistory
from console.node.holders import describe
from console.node.server_runs import ALIVE, how_it_ended, phase_of
from console.units import format_seconds, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from console.actions.node import Node, Say
    from console.logs.phases import Cause
    from remote_agent.protocol import ProcessInfo, ServerRun

POLL_S = 1.0
READY_TIMEOUT_S = 45 * 60.0
"""Big checkpoints load from slow disks for half an hour; a profile's ready_timeout_s is held instead when given."""
TAIL_LINES = 15
PORT_LINGER_S, LINGER_S = 5.0, 60.0
"""So long a process may go on whose log told of its death, by a port that is taken or else, before it is said."""
UNKNOWN = "server-died"
"""The rule for a death that no other rule knows: it only repeats the first cause, which the message has already."""


@dataclass(frozen=True, slots=True)
class LaunchOutcome:
    """A server that answered and said it is ready."""

    server: ServerRun
    ready_s: float
    history: LogHistory

    @property
    def ok(self) -> bool:
        return not self._wrong

    @property
    def proof(self) -> str:
        ready = f"server {self.server.run_id} ready after {self.ready_s:.1f} s on port {self.server.port}"
        if self._ranks is None:
            return ready
        if self._wrong:
            return f"{ready}, but without its patches: {self._wrong}"
        return f"{ready}; overlay in {self._ranks}/{self._ranks} ranks"

    @property
    def _ranks(self) -> int | None:
        """Ranks that must run the overlay's modules; None without an overlay."""
        if not self.server.record.get("overlay"):
            return None
        profile = self.server.record.get("profile") or {}
        return int(profile.get("tp_size") or 1) * int(profile.get("pp_size") or 1)

    @property
    def _wrong(self) -> str:
        return self.history.overlay.wrong(self._launcher, self._ranks) if self._ranks is not None else ""

    @property
    def _launcher(self) -> int | None:
        return self.server.child.pid if self.server.child else None

    def lines(self) -> Iterator[str]:
        yield self.proof
        yield f"log {self.server.log_path}"

    def to_json(self) -> dict[str, Any]:
        run = self.server
        return {
            "server": {
                "id": run.run_id,
                "pid": self._launcher,
                "port": run.port,
                "log_path": run.log_path,
                "state": "ready",
                "ready_s": round(self.ready_s, 2),
                "overlay": self._overlay(),
                "argv": run.argv,
                "env": run.env,
                "renamed_log": run.renamed_log,
            }
        }

    def _overlay(self) -> dict[str, Any] | None:
        if self._ranks is None:
            return None
        return {"ranks": self._ranks, "served": self.history.overlay.served(self._launcher), "wrong": self._wrong}


async def follow_until_ready(node: Node, server: ServerRun, timeout_s: float | None, say: Say) -> LaunchOutcome:
    """Read the log and the run's state until the server is ready: its line, and an answer of /v1/models."""
    watch = _Watch(node, server, timeout_s, say)
    reading = asyncio.create_task(watch.read_log())
    try:
        return await watch.until_ready(reading)
    finally:
        reading.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await reading


class _Watch:
    """One server on its way to ready."""

    def __init__(self, node: Node, server: ServerRun, timeout_s: float | None, say: Say) -> None:
        self._node = node
        self._server = server
        self._timeout_s = timeout_s or READY_TIMEOUT_S
        self._say = say
        self._told = ""
        self._asked_port_in = ""
        """The phase in which it was looked at last who holds the port."""
        self._others: tuple[ProcessInfo, ...] = ()
        """Who holds the port in this server's place."""
        self._shut_out_at: float | None = None
        """When it was seen that another one answers though the log says ready."""
        self._died_at: float | None = None
        """When the log told of the death."""
        self.history = LogHistory(tp_size_of(server.record))

    async def read_log(self) -> None:
        source = await read_log.of_run(self._node, self._server)
        async for _ in read_log.follow(self._node, source, self.history):
            self._tell()

    async def until_ready(self, reading: asyncio.Task[None]) -> LaunchOutcome:
        while True:
            waited = time.time() - self._server.started_at
            if reading.done():
                reading.result()
            run = await self._node.run_of(self._server.run_id)
            await self._check_alive(run)
            await self._check_port(run)
            if self.history.phase.name == "ready" and not self._others and await self._answers():
                run = await self._node.run_of(run.run_id)
                if run.state == "running":
                    return LaunchOutcome(run, waited, self.history)
            if waited > self._timeout_s:
                raise self._death(
                    f"server {run.run_id} was not ready within {self._timeout_s:.0f} s{self._held()}",
                    "It still runs: `logs` shows what it does, `stop` ends it.",
                )
            await asyncio.sleep(POLL_S if self.history.phase.name != "ready" else 0.1)

    async def _answers(self) -> bool:
        reply = await self._node.agent.http(self._server.port, "/v1/models")
        # With an API key set the answer is 401: the server is up all the same.
        return reply.status in (200, 401)

    async def _check_port(self, run: ServerRun) -> None:
        """Another process at the port answers in this server's place, or lets its warm-up wait for ever."""
        phase = self.history.phase.name
        if phase != self._asked_port_in or self._shut_out_at is not None:
            self._asked_port_in = phase
            await self._look_at_port(run)
        if phase != "ready" or not self._others:
            self._shut_out_at = None
            return
        # The failed bind may be in the log a moment later, and says more.
        self._shut_out_at = time.monotonic() if self._shut_out_at is None else self._shut_out_at
        if time.monotonic() - self._shut_out_at >= PORT_LINGER_S:
            raise self._shut_out(run)

    def _shut_out(self, run: ServerRun) -> ServerDied:
        finding = port_in_use.held_by(run.port, _named(self._others)).on(self._node.name)
        told = f"server {run.run_id} is not what answers: {finding.message}"
        error = self._death(told, f"{finding.hint} {self._left(run)}Log: {run.log_path}")
        error.findings = [finding.to_json()]
        return error

    async def _look_at_port(self, run: ServerRun) -> None:
        own = {each.identity.pid for each in run.children} | {each.pid for each in (run.child, run.supervisor) if each}
        holders = (await self._node.agent.port(run.port)).holders
        others = tuple(each for each in holders if each.identity.pid not in own)
        if others and not self._others:
            self._say(f"port {run.port} is held by {_named(others)}: this server cannot get ready before that ends")
        self._others = others

    def _held(self) -> str:
        return f"; port {self._server.port} is held by {_named(self._others)}" if self._others else ""

    async def _check_alive(self, run: ServerRun) -> None:
        if run.state in ALIVE and not self._lingers():
            return
        await self._look_at_port(run)
        await self._read_rest()
        raise self._explained(run)

    def _lingers(self) -> bool:
        """Has the log told of the death a while ago? After a bind that failed, SGLang joins its own warm-up's thread,
        which may wait for whoever holds the port: nobody has to wait with it.
        """
        phase = self.history.phase
        if phase.name != "died":
            self._died_at = None
            return False
        self._died_at = time.monotonic() if self._died_at is None else self._died_at
        return time.monotonic() - self._died_at >= (PORT_LINGER_S if _is_port(phase.cause) else LINGER_S)

    def _explained(self, run: ServerRun) -> ServerDied:
        """The death with its first cause: the message keeps the log's own words, the hint says what to do."""
        cause = self.history.phase.cause
        told = f": {plain(cause.sentence)[:300]}" if cause else ""
        explanation = of_history(self.history, run.log_path, launch=Launch(read_asked(run.argv)))
        first = explanation.first.on(self._node.name) if explanation.first else None
        meant = ""
        if first:
            meant = first.hint if first.rule == UNKNOWN else f"{first.message} ({first.rule}). {first.hint}"
        ended = "its process is still there" if run.state in ALIVE else how_it_ended(run)
        holder = self._held() if _is_port(cause) else ""
        error = self._death(
            f"server {run.run_id} died before it was ready ({ended}){told}{holder}",
            plain(f"{meant} {self._left(run)}Log: {run.log_path}".strip()),
        )
        error.findings = [finding.on(self._node.name).to_json() for finding in explanation.findings]
        return error

    def _left(self, run: ServerRun) -> str:
        if run.state not in ALIVE:
            return ""
        return f"Its process is still there: `stop {self._node.name} --server {run.run_id}` ends it. "

    async def _read_rest(self) -> None:
        """The follower may be a moment behind: read what is left of the log, if it is still there."""
        with contextlib.suppress(Refused):
            self.history = await read_log.read(self._node, await read_log.of_run(self._node, self._server))

    def _death(self, message: str, hint: str) -> ServerDied:
        return ServerDied(message, hint, "\n".join(plain(line) for line in self.history.tail[-TAIL_LINES:]))

    def _tell(self) -> None:
        phase = phase_of(self._server, self.history.phase)
        told = f"{phase.name} {plain(phase.detail)}".strip()
        if told != self._told:
            self._told = told
            self._say(f"{format_seconds(time.time() - self._server.started_at)} {told}")


def _is_port(cause: Cause | None) -> bool:
    return cause is not None and cause.kind == "port_in_use"


def _named(processes: Iterable[ProcessInfo]) -> str:
    return ", ".join(plain(describe(each)) for each in processes)
