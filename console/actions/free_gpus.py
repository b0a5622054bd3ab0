"""Free the GPUs: end what was chosen, by identity, then measure until they are free or it is said why not."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from console.node import free_plan
from console.node.verdict import GpuVerdict, verdicts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.actions.node import Node, Say
    from console.node.free_plan import FreePlan, FreeRequest
    from remote_agent.protocol import Terminated

POLL_S = 0.5


@dataclass(frozen=True, slots=True)
class FreeOutcome:
    """What was ended, what is left, and the measured state of each GPU."""

    gpus: tuple[GpuVerdict, ...]
    terminated: tuple[Terminated, ...]
    left: tuple[Terminated, ...]
    reason: str
    """Why there are no GPU readings; empty when there are."""

    @property
    def ok(self) -> bool:
        """Every GPU that was asked for is free, and nothing that was to end is left."""
        return not self.left and bool(self.gpus) and all(gpu.state == "free" for gpu in self.gpus)

    @property
    def proof(self) -> str:
        free = sum(gpu.state == "free" for gpu in self.gpus)
        if not self.gpus:
            return f"no GPU readings: {self.reason}"
        not_free = "; ".join(f"GPU {gpu.index} {gpu.state}: {gpu.reason}" for gpu in self.gpus if gpu.state != "free")
        return f"{free}/{len(self.gpus)} GPUs free" + (f"; {not_free}" if not_free else "")

    def lines(self) -> Iterator[str]:
        for each in self.terminated:
            yield f"pid {each.pid} {each.outcome} after {each.waited_s} s {each.reason}".rstrip()
        for each in self.left:
            yield f"pid {each.pid} NOT ended: {each.outcome} {each.reason}".rstrip()
        for gpu in self.gpus:
            yield f"GPU {gpu.index}: {gpu.state} ({gpu.reason})"
        if not self.gpus:
            yield self.proof

    def to_json(self) -> dict[str, Any]:
        return {
            "gpus": [gpu.to_json() for gpu in self.gpus],
            "terminated": [_json(each) for each in self.terminated],
            "left": [_json(each) for each in self.left],
            "reason": self.reason,
        }


async def plan(node: Node, request: FreeRequest) -> FreePlan:
    """Read who holds what and choose. Raises UsageError, Refused."""
    inventory = await node.inventory()
    named = await node.agent.inspect(request.pids) if request.pids else []
    facts = inventory.facts
    return free_plan.plan(request, inventory.holders, inventory.runs, node.operator, facts.hostname, facts.uid, named)


async def run(node: Node, plan: FreePlan, say: Say) -> FreeOutcome:
    """End the chosen ones, then wait for the GPUs and judge them."""
    started = time.time()
    results: list[Terminated] = []
    for server in plan.servers:
        say(f"stopping server {server.run_id}")
        results += (await node.agent.stop_server(server.run_id, plan.request.grace_s, _countdown(say))).results
    if plan.processes:
        identities = [process.identity for process in plan.processes]
        results += (await node.agent.terminate(identities, plan.request.grace_s, _countdown(say))).results
    outcome = await measure(node, plan.request, results, say)
    node.record(started, "free", {"plan": list(plan.lines())}, {"ok": outcome.ok, **outcome.to_json()})
    return outcome


async def measure(node: Node, request: FreeRequest, results: list[Terminated], say: Say) -> FreeOutcome:
    """Read the GPUs until all are free or `verify_timeout_s` is over; the last reading is the verdict."""
    gone = ("terminated", "killed", "gone")
    ended = tuple(each for each in results if each.outcome in gone)
    left = tuple(each for each in results if each.outcome not in gone)
    deadline = time.monotonic() + (request.verify_timeout_s if ended else 0.0)
    while True:
        inventory = await node.inventory()
        judged = verdicts(inventory.sample, inventory.holders, gpus=request.gpus or None)
        outcome = FreeOutcome(judged, ended, left, inventory.sample.reason)
        # Others' processes stay: waiting longer frees nothing that they hold.
        if outcome.ok or time.monotonic() >= deadline or inventory.sample.source == "none":
            return outcome
        say(f"waiting for memory: {outcome.proof}")
        await asyncio.sleep(POLL_S)


def _countdown(say: Say) -> Any:
    told: set[int] = set()

    def show(progress: dict[str, Any]) -> None:
        left_s = int(progress.get("left_s", 0))
        if left_s not in told:
            told.add(left_s)
            say(f"waiting for pids {progress.get('waiting')}, {left_s} s left")

    return show


def _json(each: Terminated) -> dict[str, Any]:
    return {"pid": each.pid, "outcome": each.outcome, "reason": each.reason, "waited_s": each.waited_s}
