"""Stop a server of this operator, and read again that it is gone and its GPUs are free."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from console.actions import free_gpus
from console.node.free_plan import FreePlan, FreeRequest
from console.node.server_runs import how_it_ended, visible_gpus

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.actions.free_gpus import FreeOutcome
    from console.actions.node import Node, Say
    from remote_agent.protocol import ServerRun


@dataclass(frozen=True, slots=True)
class StopPlan:
    """The server that would be stopped."""

    server: ServerRun
    grace_s: float

    def lines(self) -> Iterator[str]:
        pids = ", ".join(str(each.identity.pid) for each in self.server.children)
        yield f"stop server {self.server.run_id} on port {self.server.port}"
        yield f"TERM to its launcher, {self.grace_s:.0f} s to drain, then KILL to what stays (pids {pids})"


@dataclass(frozen=True, slots=True)
class StopOutcome:
    """How it ended, and the GPUs afterwards."""

    server: ServerRun
    freed: FreeOutcome

    @property
    def ok(self) -> bool:
        return self.server.state in ("exited", "lost") and not self.server.children and not self.freed.left

    @property
    def proof(self) -> str:
        run = self.server
        return f"server {run.run_id} {run.state} ({how_it_ended(run)}); {self.freed.proof}"

    def lines(self) -> Iterator[str]:
        yield self.proof
        yield from self.freed.lines()

    def to_json(self) -> dict[str, Any]:
        run = self.server
        server = {"id": run.run_id, "state": run.state, "exit_code": run.exit_code, "exit_signal": run.exit_signal}
        return {"server": server, **self.freed.to_json()}


async def plan(node: Node, server: str | None, port: int | None, grace_s: float) -> StopPlan:
    """Find the server. Raises UsageError; Refused for another operator's."""
    run = await node.server(server, port)
    node.require_ours(run, "stopping it")
    return StopPlan(run, grace_s)


async def run(node: Node, plan: StopPlan, say: Say) -> StopOutcome:
    started = time.time()
    request = FreeRequest(gpus=visible_gpus(plan.server.env), grace_s=plan.grace_s)
    freed = await free_gpus.run(node, FreePlan(request, (plan.server,), (), ()), say)
    outcome = StopOutcome(await node.run_of(plan.server.run_id), freed)
    node.record(started, "stop", {"server": plan.server.run_id}, {"ok": outcome.ok, **outcome.to_json()})
    return outcome
