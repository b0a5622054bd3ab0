"""Follow a launched server from its log until it is ready or dead."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from console.actions import read_log
from console.actions.explain_log import of_history
from console.errors import ServerDied
from console.launch.asked import read as read_asked
from console.lint.context import Launch
from console.node.server_runs import how_it_ended
from console.units import format_seconds, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.actions.node import Node, Say
    from console.logs.history import LogHistory
    from remote_agent.protocol import ServerRun

POLL_S = 1.0
READY_TIMEOUT_S = 45 * 60.0
"""Big checkpoints load from slow disks for half an hour; a profile's ready_timeout_s is held instead when given."""
TAIL_LINES = 15
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
        self._source = read_log.LogSource(server.log_path, server.log_offset, server.record, server.run_id)
        self._timeout_s = timeout_s or READY_TIMEOUT_S
        self._say = say
        self._told = ""
        self.history = self._source.history()

    async def read_log(self) -> None:
        async for _ in read_log.follow(self._node, self._source, self.history):
            self._tell()

    async def until_ready(self, reading: asyncio.Task[None]) -> LaunchOutcome:
        while True:
            waited = time.time() - self._server.started_at
            if reading.done():
                reading.result()
            if self.history.phase.name == "ready" and await self._answers():
                run = await self._node.run_of(self._server.run_id)
                if run.state == "running":
                    return LaunchOutcome(run, waited, self.history)
            await self._check_alive()
            if waited > self._timeout_s:
                raise self._death(
                    f"server {self._server.run_id} was not ready within {self._timeout_s:.0f} s",
                    "It still runs: `logs` shows what it does, `stop` ends it.",
                )
            await asyncio.sleep(POLL_S if self.history.phase.name != "ready" else 0.1)

    async def _answers(self) -> bool:
        reply = await self._node.agent.http(self._server.port, "/v1/models")
        # With an API key set the answer is 401: the server is up all the same.
        return reply.status in (200, 401)

    async def _check_alive(self) -> None:
        run = await self._node.run_of(self._server.run_id)
        if run.state in ("running", "starting"):
            return
        await self._read_rest()
        raise self._explained(run)

    def _explained(self, run: ServerRun) -> ServerDied:
        """The death with its first cause: the message keeps the log's own words, the hint says what to do."""
        cause = self.history.phase.cause
        told = f": {plain(cause.sentence)[:300]}" if cause else ""
        explanation = of_history(self.history, run.log_path, launch=Launch(read_asked(run.argv)))
        first = explanation.first
        meant = ""
        if first:
            meant = first.hint if first.rule == UNKNOWN else f"{first.message} ({first.rule}). {first.hint}"
        error = self._death(
            f"server {run.run_id} died before it was ready ({how_it_ended(run)}){told}",
            plain(f"{meant} Log: {run.log_path}".strip()),
        )
        error.findings = [finding.to_json() for finding in explanation.findings]
        return error

    async def _read_rest(self) -> None:
        """The follower may be a moment behind: read what is left of the log."""
        self.history = await read_log.read(self._node, self._source)

    def _death(self, message: str, hint: str) -> ServerDied:
        return ServerDied(message, hint, "\n".join(plain(line) for line in self.history.tail[-TAIL_LINES:]))

    def _tell(self) -> None:
        phase = self.history.phase
        told = f"{phase.name} {plain(phase.detail)}".strip()
        if told != self._told:
            self._told = told
            self._say(f"{format_seconds(time.time() - self._server.started_at)} {told}")
