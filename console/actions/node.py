"""A node as actions see it: its agent, its configuration, profiles resolved for it, and the journal."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from console.errors import Refused, UsageError
from console.launch.loader import Inputs, ResolvedProfile, resolve
from console.node import titles
from console.node.holders import Holder, classify
from console.node.server_groups import without_strangers
from console.node.server_runs import is_meant
from console.patches.known import KnownPatches

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from console.config import NodeConfig
    from console.launch.library import Library
    from console.remote.agent import Agent
    from console.store.journal import Journal
    from remote_agent.protocol import LedgerEntry, NodeFacts, ServerRun, SGLangFacts, TelemetrySample

Say = Callable[[str], None]
"""Tell the user one line of progress: plain text, hostile parts already made plain."""


def silent(_line: str) -> None:
    """Say nothing."""


@dataclass(frozen=True, slots=True)
class Inventory:
    """What was read of GPUs and servers at one moment."""

    facts: NodeFacts
    sample: TelemetrySample
    holders: tuple[Holder, ...]
    runs: tuple[ServerRun, ...]
    unreadable_pids: int
    reason: str
    """Why holders may be incomplete; empty when they are not."""
    ledger: tuple[LedgerEntry, ...] = ()
    """Changes of ours to files of the node that are there now, or were begun."""
    cpu_s: float = 0.0
    """What looking for the holders cost the node, seconds of a core."""


@dataclass(slots=True)
class Node:
    """One connected node."""

    name: str
    config: NodeConfig
    agent: Agent
    library: Library
    journal: Journal
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ), repr=False)
    patches: KnownPatches = field(default_factory=KnownPatches)

    @property
    def operator(self) -> str:
        return self.agent.operator

    @property
    def simulated(self) -> bool:
        return self.config.simulated

    async def inventory(self) -> Inventory:
        """Read facts, GPUs, holders and run records."""
        facts = await self.agent.facts()
        sample = await self.agent.sample()
        processes = await self.agent.gpu_processes()
        runs = await self.agent.servers() if facts.state_dir else []
        named = await self.agent.processes(titles.WORDS)
        # The embedded node is a world of its own: what else of this machine uses a GPU, or is SGLang, is not in it.
        rows = [each for each in processes.holders if each.from_driver or not self.simulated]
        holders = classify(rows, runs, self.operator, facts.uid, named)
        holders = without_strangers(holders) if self.simulated else holders
        ledger = tuple(await self.agent.ledger("")) if facts.state_dir else ()
        reason, cpu_s = processes.reason, processes.cpu_s
        return Inventory(facts, sample, holders, tuple(runs), processes.unreadable_pids, reason, ledger, cpu_s)

    async def profile(self, name: str, sets: Sequence[str] = (), env: Sequence[str] = ()) -> ResolvedProfile:
        """Resolve a profile with this node's variables; `${home}` is the home on the node. Raises UsageError."""
        home = (await self.agent.facts()).home
        variables = {"home": home, **self.config.launch_variables()}
        asked = (*self.config.sets, *sets)
        return resolve(name, self.library, Inputs(variables, self.environ, asked, tuple(env), self.patches.options()))

    async def sglang(self, python: str) -> SGLangFacts:
        return await self.agent.sglang(python, self.config.env)

    async def running(self) -> list[ServerRun]:
        """Servers that run now, or have left processes behind, newest last."""
        return [run for run in await self.agent.servers() if run.state in ("running", "starting") or run.children]

    async def server(self, server: str | None = None, port: int | None = None) -> ServerRun:
        """The one server that is meant: named, or the only running one of this operator.

        Raises:
            UsageError: there is none, or it is not clear which.
        """
        running = await self.running()
        if server is not None:
            return _only([run for run in running if is_meant(run, server)], running)
        if port is not None:
            return _only([run for run in running if run.port == port], running)
        return _only([run for run in running if run.operator == self.operator], running)

    async def run_of(self, run_id: str) -> ServerRun:
        """The run record of a server that is known to have one, as it is now."""
        (run,) = [each for each in await self.agent.servers() if each.run_id == run_id]
        return run

    def require_ours(self, run: ServerRun, what: str) -> None:
        """Raises Refused for a server of another operator."""
        if run.operator != self.operator:
            raise Refused(f"server {run.run_id} belongs to {run.operator}: {what} is refused", "Ask them.")

    def record(self, at: float, verb: str, request: Mapping[str, Any], outcome: Mapping[str, Any]) -> None:
        """Keep an action in the journal."""
        self.journal.add_action(at, self.name, verb, request, outcome)


def _only(matching: Sequence[ServerRun], running: Sequence[ServerRun]) -> ServerRun:
    if len(matching) == 1:
        return matching[0]
    known = ", ".join(f"{run.run_id} (port {run.port}, {run.operator})" for run in running) or "none is running"
    if not matching:
        raise UsageError("no running server is meant", f"Servers: {known}.")
    raise UsageError("several servers are running: which one is meant?", f"--server or --port; servers: {known}.")
