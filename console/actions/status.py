"""What a node is and does now: facts, GPUs with verdicts, holders, servers, probes, the applied patches."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from console.actions import adopt_probe, server_phase
from console.node.holders import describe
from console.node.verdict import GpuVerdict, verdicts
from console.units import format_bytes, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.actions.node import Inventory, Node
    from console.node.server_runs import ServerPhase
    from remote_agent.protocol import Hello, OverlayInfo, ProbeRun


@dataclass(frozen=True, slots=True)
class Status:
    """One reading of a node."""

    node: str
    hello: Hello
    inventory: Inventory
    gpus: tuple[GpuVerdict, ...]
    probes: tuple[ProbeRun, ...]
    overlays: tuple[OverlayInfo, ...]
    simulated: bool
    phases: tuple[ServerPhase, ...]
    """Of every server in the inventory, in its order."""
    notices: tuple[str, ...] = ()
    """What waits to be done, such as a finished probe that nobody collected."""

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
        for run, phase in zip(self.inventory.runs, self.phases, strict=True):
            profile = (run.record.get("profile") or {}).get("name", "?")
            yield f"server {run.run_id} {plain(phase.words)}, port {run.port}, {profile} by {run.operator}"
        yield from self._changes()
        yield from self.notices

    def _changes(self) -> Iterator[str]:
        for entry in self.inventory.ledger:
            yield f"patched {entry.root}: {', '.join(entry.patches)} ({entry.state}) by {entry.operator}"
        for overlay in self.overlays:
            broken = f", BROKEN: {', '.join(overlay.broken)}" if overlay.broken else ""
            names = ", ".join(map(str, overlay.manifest.get("patches") or ["?"]))
            yield f"overlay {overlay.name} of {overlay.manifest.get('root')}: {names}{broken}"

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
            "servers": [
                {**asdict(run), "phase": phase.to_json()}
                for run, phase in zip(self.inventory.runs, self.phases, strict=True)
            ],
            "probes": [asdict(run) for run in self.probes],
            "notices": list(self.notices),
            "patches": [asdict(entry) for entry in self.inventory.ledger],
            "overlays": [_overlay(each) for each in self.overlays],
        }


async def read(node: Node) -> Status:
    """Read everything once."""
    inventory = await node.inventory()
    has_state = inventory.facts.state_dir is not None
    probes = tuple(await node.agent.probes()) if has_state else ()
    return Status(
        node=node.name,
        hello=node.agent.hello,
        inventory=inventory,
        gpus=verdicts(inventory.sample, inventory.holders),
        probes=probes,
        overlays=tuple(await node.agent.overlays()) if has_state else (),
        simulated=node.simulated,
        phases=tuple([await server_phase.read(node, run) for run in inventory.runs]),
        notices=tuple(adopt_probe.notice(node, probes)),
    )


def _overlay(each: OverlayInfo) -> dict[str, Any]:
    held = {key: each.manifest.get(key) for key in ("root", "patches")}
    return {"name": each.name, "path": each.path, **held, "broken": each.broken}
