"""What a node is and does now: facts, GPUs with verdicts, holders, servers, probes, the applied patches."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from console.node.free_plan import describe
from console.node.verdict import GpuVerdict, verdicts
from console.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.actions.node import Inventory, Node
    from remote_agent.protocol import Hello, LedgerEntry, ProbeRun


@dataclass(frozen=True, slots=True)
class Status:
    """One reading of a node."""

    node: str
    hello: Hello
    inventory: Inventory
    gpus: tuple[GpuVerdict, ...]
    probes: tuple[ProbeRun, ...]
    ledger: tuple[LedgerEntry, ...]
    simulated: bool

    def lines(self) -> Iterator[str]:
        facts, sample = self.inventory.facts, self.inventory.sample
        mark = "SIMULATED " if self.simulated else ""
        yield f"{mark}{self.node}: {facts.hostname}, {facts.os}, agent on Python {self.hello.python} as {facts.user}"
        if self.hello.readonly:
            yield f"read-only: {self.hello.readonly_reason}"
        if sample.source == "none":
            yield f"no GPU readings: {sample.reason}"
        for gpu, verdict in zip(sample.gpus, self.gpus, strict=True):
            used = f"{format_bytes(gpu.memory_used_bytes)} / {format_bytes(gpu.memory_total_bytes)}"
            yield f"GPU {gpu.index} {gpu.name} {used} {verdict.state}: {verdict.reason}"
        if self.inventory.unreadable_pids:
            yield f"files of {self.inventory.unreadable_pids} processes could not be looked into"
        for holder in self.inventory.holders:
            who = describe(holder.process) if holder.process else f"pid {holder.pid}"
            yield f"{holder.kind} {who}: {format_bytes(holder.memory_used_bytes)} ({holder.evidence})"
        for holder in self.inventory.holders:
            if holder.role == "launcher" and holder.run_id is None and holder.process:
                yield f"server without a run record: {' '.join(holder.process.argv)}"
        for run in self.inventory.runs:
            ended = f" exit {run.exit_code}" if run.exit_code is not None else ""
            profile = (run.record.get("profile") or {}).get("name", "?")
            yield f"server {run.run_id} {run.state}{ended} port {run.port} {profile} by {run.operator}"
        for entry in self.ledger:
            yield f"patched {entry.root}: {', '.join(entry.patches)} ({entry.state}) by {entry.operator}"

    def to_json(self) -> dict[str, Any]:
        facts, sample = self.inventory.facts, self.inventory.sample
        return {
            "simulated": self.simulated,
            "agent": asdict(self.hello),
            "facts": asdict(facts),
            "gpu_source": sample.source,
            "gpu_reason": sample.reason,
            "gpus": [{**asdict(gpu), **verdict.to_json()} for gpu, verdict in zip(sample.gpus, self.gpus, strict=True)],
            "holders": [asdict(holder) for holder in self.inventory.holders],
            "servers": [asdict(run) for run in self.inventory.runs],
            "probes": [asdict(run) for run in self.probes],
            "patches": [asdict(entry) for entry in self.ledger],
        }


async def read(node: Node) -> Status:
    """Read everything once."""
    inventory = await node.inventory()
    has_state = inventory.facts.state_dir is not None
    return Status(
        node=node.name,
        hello=node.agent.hello,
        inventory=inventory,
        gpus=verdicts(inventory.sample, inventory.holders),
        probes=tuple(await node.agent.probes()) if has_state else (),
        ledger=tuple(await node.agent.ledger("")) if has_state else (),
        simulated=node.simulated,
    )
