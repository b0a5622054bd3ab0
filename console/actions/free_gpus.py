"""Free the GPUs: end what was chosen, by identity, then measure until they are free or it is said why not."""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from console.node import free_plan, server_groups
from console.node.free_targets import Surroundings
from console.node.leftovers import Leftover, judge, sweepable
from console.node.verdict import NAMED, GpuVerdict, is_zombie, verdicts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from console.actions.node import Node, Say
    from console.node.free_plan import FreePlan, FreeRequest
    from console.node.holders import Holder
    from remote_agent.protocol import PortFacts, Swept, Terminated

POLL_S = 0.5


@dataclass(frozen=True, slots=True)
class FreeOutcome:
    """What was ended, what is left, and the measured state of each GPU."""

    gpus: tuple[GpuVerdict, ...]
    terminated: tuple[Terminated, ...]
    left: tuple[Terminated, ...]
    reason: str
    """Why there are no GPU readings; empty when there are."""
    ports: tuple[PortFacts, ...] = ()
    """Ports of the servers that were stopped."""
    leftovers: tuple[Leftover, ...] = ()
    """/dev/shm entries of dead pids that are still there."""
    swept: tuple[Swept, ...] = ()
    remedies: tuple[str, ...] = ()
    """What would end those who still hold a GPU."""

    @property
    def ok(self) -> bool:
        """Every GPU that was asked for is free, ports too, and nothing that was to end is left."""
        freed = bool(self.gpus) and all(gpu.state == "free" for gpu in self.gpus)
        return not self.left and freed and all(port.free for port in self.ports)

    @property
    def proof(self) -> str:
        free = sum(gpu.state == "free" for gpu in self.gpus)
        if not self.gpus:
            return f"no GPU readings: {self.reason}"
        not_free = "; ".join(f"GPU {gpu.index} {gpu.state}: {gpu.reason}" for gpu in self.gpus if gpu.state != "free")
        ports = "; ".join(f"port {each.port} is still held" for each in self.ports if not each.free)
        return "; ".join(part for part in (f"{free}/{len(self.gpus)} GPUs free", not_free, ports) if part)

    def lines(self) -> Iterator[str]:
        for each in self.terminated:
            yield f"pid {each.pid} {each.outcome} after {each.waited_s} s {each.reason}".rstrip()
        for each in self.left:
            yield f"pid {each.pid} NOT ended: {each.outcome} {each.reason}".rstrip()
        for gpu in self.gpus:
            yield f"GPU {gpu.index}: {gpu.state} ({gpu.reason})"
        yield from self.remedies
        for port in self.ports:
            draining = f", {port.draining} sockets still wind down" if port.draining else ""
            yield f"port {port.port}: {'free' if port.free else 'HELD: ' + port.reason}{draining}"
        for taken in self.swept:
            yield f"/dev/shm/{taken.name}: {taken.outcome} {taken.reason}".rstrip()
        for leftover in self.leftovers:
            yield f"{leftover.line()} (--sweep-shm removes it)"
        if not self.gpus:
            yield self.proof

    def to_json(self) -> dict[str, Any]:
        return {
            "gpus": [gpu.to_json() for gpu in self.gpus],
            "terminated": [_json(each) for each in self.terminated],
            "left": [_json(each) for each in self.left],
            "reason": self.reason,
            "ports": [{"port": p.port, "free": p.free, "draining": p.draining, "reason": p.reason} for p in self.ports],
            "shm": [each.to_json() for each in self.leftovers],
            "remedies": list(self.remedies),
            "swept": [{"name": s.name, "outcome": s.outcome, "reason": s.reason} for s in self.swept],
        }


async def plan(node: Node, request: FreeRequest) -> FreePlan:
    """Read who holds what and choose. Raises UsageError, Refused."""
    inventory = await node.inventory()
    named = await node.agent.inspect(request.pids) if request.pids else []
    agent_line = await _agent_line(node) if request.pids else frozenset[int]()
    around = Surroundings(inventory.facts.hostname, inventory.facts.uid, agent_line, node.simulated)
    chosen = free_plan.plan(request, inventory.holders, inventory.runs, node.operator, around, named)
    return replace(chosen, leftovers=await _leftovers(node))


async def _agent_line(node: Node) -> frozenset[int]:
    """The agent's pid and those above it, as its pid namespace has them."""
    line: set[int] = set()
    pid = node.agent.hello.pid
    while pid > 0 and pid not in line:
        line.add(pid)
        above = await node.agent.inspect([pid])
        pid = above[0].ppid if above else 0
    return frozenset(line)


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
    swept = await _sweep(node) if plan.request.sweep_shm else []
    outcome = await measure(node, plan, results, say)
    outcome = replace(outcome, leftovers=await _leftovers(node), swept=tuple(swept))
    told = {"plan": list(plan.lines()), "before": [asdict(holder) for holder in plan.holders]}
    node.record(started, "free", told, {"ok": outcome.ok, **outcome.to_json()})
    return outcome


async def _leftovers(node: Node) -> tuple[Leftover, ...]:
    if node.simulated:  # the embedded node is a world of its own: the machine's /dev/shm is not in it
        return ()
    judged = judge(await node.agent.shm(), (await node.agent.facts()).uid)
    return tuple(each for each in judged if each.state == "leftover")


async def _sweep(node: Node) -> list[Swept]:
    """Read again: what the ended processes left behind is there only now."""
    found = sweepable(await _leftovers(node))
    return await node.agent.sweep_shm(found) if found else []


async def measure(node: Node, plan: FreePlan, results: list[Terminated], say: Say) -> FreeOutcome:
    """Read GPUs and ports until all are free or `verify_timeout_s` is over; the last reading is the verdict."""
    gone = ("terminated", "killed", "gone")
    ended = tuple(each for each in results if each.outcome in gone)
    left = tuple(each for each in results if each.outcome not in gone)
    deadline = time.monotonic() + (plan.request.verify_timeout_s if ended else 0.0)
    along = plan.taken_along
    # What was asked for, and what the servers hold that end by it.
    gpus = {*plan.request.gpus, *(index for each in along for index in each.gpus)} if plan.request.gpus else None
    ending = {each.pid for each in results} | {each.pid for each in along}
    while True:
        inventory = await node.inventory()
        judged = verdicts(inventory.sample, inventory.holders, gpus=gpus)
        held = tuple([await node.agent.port(run.port) for run in plan.servers])
        outcome = FreeOutcome(judged, ended, left, inventory.sample.reason, held)
        is_over = time.monotonic() >= deadline or inventory.sample.source == "none"
        if outcome.ok or is_over or _is_others_alone(outcome, inventory.holders, ending):
            return replace(outcome, remedies=tuple(_remedies(outcome, inventory.holders)))
        say(f"waiting for memory: {outcome.proof}")
        await asyncio.sleep(POLL_S)


def _is_others_alone(outcome: FreeOutcome, holders: Sequence[Holder], ending: Collection[int]) -> bool:
    """Is all that is still held held by living processes that were not to end? Waiting longer frees none of it."""
    stay = [h for h in holders if h.process and h.pid not in ending and h.kind != "ours" and not h.only_watches]
    stay = [holder for holder in stay if not is_zombie(holder)]
    waiting = [gpu for gpu in outcome.gpus if gpu.state != "free"]
    by_others = all(any(gpu.index in holder.gpus for holder in stay) for gpu in waiting)
    return by_others and all(port.free for port in outcome.ports)


def _remedies(outcome: FreeOutcome, holders: Sequence[Holder]) -> Iterator[str]:
    """What would end those who still hold a GPU, once for each server."""
    waiting = {gpu.index for gpu in outcome.gpus if gpu.state != "free"}
    groups = server_groups.group(holders)
    found: dict[str, str] = {}
    for holder in holders:
        flags = server_groups.flags_for(holder, groups)
        if flags and waiting & set(holder.gpus) and not holder.only_watches and not is_zombie(holder):
            server = server_groups.group_of(holder.pid, groups)
            found.setdefault(flags, server.words if server else f"pid {holder.pid}")
    for flags, who in list(found.items())[:NAMED]:
        yield f"{who}: end it with {flags}"
    if len(found) > NAMED:
        yield f"and {len(found) - NAMED} more that hold GPUs"


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
