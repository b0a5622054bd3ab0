"""Probe a server on its node: start, follow the spool, measure, keep with full provenance."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from console.errors import NegativeResult, UsageError
from console.launch.secrets import reference
from console.probe.fingerprint import Fingerprint, PatchRef
from console.probe.metrics import measure
from console.probe.stored import StoredRun
from console.probe.trace import BlockTrace, Done, Progress, parse_event, read_spool
from console.probe.workload import Workload, workload_from_profile
from console.units import format_number, format_rate, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from console.actions.node import Node, Say
    from remote_agent.protocol import ProbeRun, ServerRun, TelemetrySample

POLL_S = 2.0
LAST_WORDS_S = 10.0
TELL_S = 3.0


@dataclass(frozen=True, slots=True)
class ProbePlan:
    """The server, and what it will be asked."""

    server: ServerRun
    workload: Workload

    @property
    def profile(self) -> dict[str, Any]:
        return dict(self.server.record.get("profile") or {})

    def lines(self) -> Iterator[str]:
        load = self.workload
        yield f"probe server {self.server.run_id} on port {self.server.port}"
        yield (
            f"{load.blocks} blocks of {load.requests_per_block} requests, {load.max_new_tokens} tokens each, "
            f"concurrency {load.concurrency}, temperature {load.temperature}, after {load.warmup} warm-up"
        )
        yield f"prompt {load.prompt_name}; cache flushed before each block: {load.flush_cache}"


@dataclass(frozen=True, slots=True)
class ProbeOutcome:
    """A stored run."""

    run: StoredRun

    @property
    def ok(self) -> bool:
        return self.run.result.valid

    @property
    def proof(self) -> str:
        result = self.run.result
        length = f", accept_len {result.accept_len:.4f}" if result.accept_len is not None else ""
        if not result.valid:
            return f"run {self.run.run_id} INVALID: {plain(result.why)}"
        return f"run {self.run.run_id}: {format_rate(result.output_tok_s)}{length}"

    def lines(self) -> Iterator[str]:
        result = self.run.result
        simulated = " SIMULATED" if self.run.fingerprint.simulated else ""
        yield f"{self.proof}{simulated}"
        if result.ttft_ms:
            yield f"ttft mean {format_number(result.ttft_ms.mean)} ms"
        if result.accept_hist is not None:
            yield f"accept_hist {list(result.accept_hist)} ({result.accept_hist_source})"
        for note in result.notes:
            yield f"note: {plain(note)}"

    def to_json(self) -> dict[str, Any]:
        run = self.run
        kept = {"id": run.run_id, "profile": run.profile, "launch_id": run.launch_id}
        return {"run": {**kept, **run.result.to_json(), "fingerprint": run.fingerprint.to_json()}}


async def plan(
    node: Node, server: str | None = None, port: int | None = None, overrides: Mapping[str, Any] | None = None
) -> ProbePlan:
    """Find the server and its workload. Raises UsageError."""
    run = await node.server(server, port)
    workload = workload_from_profile(load_of(run.record, overrides or {}))
    if run.operator != node.operator:
        workload = replace(workload, flush_cache=False)
    return ProbePlan(run, workload)


def load_of(record: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """The profile's load, with what the user gave over it; an option that was not given changes nothing."""
    given = (record.get("profile") or {}).get("probe") or {}
    layers = {**given, **{key: value for key, value in overrides.items() if value is not None}}
    return {key: value for key, value in layers.items() if value is not None}


async def run(node: Node, plan: ProbePlan, say: Say) -> ProbeOutcome:
    """Start the probe and wait for its end; a lost connection is resumed, the probe goes on meanwhile.

    Raises NegativeResult when the probe ended without a result.
    """
    started = time.time()
    fingerprint = await fingerprint_of(node, plan)
    spec = plan.workload.to_spec(plan.server.port, _api_key(node, plan.profile))
    record = {"server": plan.server.run_id, "workload": plan.workload.identity()}
    probe = await node.agent.start_probe(plan.server.port, spec, record)
    say(f"probe {probe.run_id} started")
    try:
        spool = await _follow(node, probe, say)
    except asyncio.CancelledError:
        await asyncio.shield(node.agent.stop_probe(probe.run_id))
        raise
    stored = StoredRun(
        run_id=probe.run_id,
        at=time.time(),
        node=node.name,
        profile=str(plan.profile.get("name", "")),
        profile_hash=str(plan.server.record.get("profile_sha256", "")),
        fingerprint=fingerprint,
        result=measure(read_spool(spool)),
        launch_id=plan.server.run_id,
    )
    node.journal.add_run(stored, spool)
    outcome = ProbeOutcome(stored)
    node.record(started, "probe", record, {"ok": outcome.ok, "run": stored.run_id})
    return outcome


async def fingerprint_of(node: Node, plan: ProbePlan) -> Fingerprint:
    """Everything that a later comparison must know of this server and this load."""
    record, facts = plan.server.record, await node.agent.facts()
    sglang = record.get("sglang") or {}
    sample = await node.agent.sample()
    names, limits = _devices(sample, plan.server, plan.profile)
    return Fingerprint(
        sglang_version=sglang.get("version"),
        git_head=sglang.get("git_head"),
        git_dirty=sglang.get("git_dirty"),
        tree_edits=record.get("tree_edits"),
        patches=tuple(PatchRef(each["id"], each["sha256"]) for each in record.get("patches") or []),
        argv=_without_run_config(plan.server.argv),
        env=plan.server.env,
        gpu_names=names,
        power_limits_w=limits,
        driver=sample.driver_version,
        workload=plan.workload.identity(),
        simulated=bool(record.get("simulated")) or node.simulated,
        hostname=facts.hostname,
        machine_id=facts.machine_id,
    )


async def _follow(node: Node, probe: ProbeRun, say: Say) -> bytes:
    """The whole spool, up to its last event. The probe's own state is watched beside: a killed one writes no end."""
    reading = asyncio.create_task(_read_spool(node, probe, say))
    try:
        while not (await asyncio.wait({reading}, timeout=POLL_S))[0]:
            state = next((each.state for each in await node.agent.probes() if each.run_id == probe.run_id), "lost")
            if state not in ("running", "starting"):
                break
        # An ended probe has written all it will: what is not read now is there at once.
        return await asyncio.wait_for(reading, LAST_WORDS_S)
    except TimeoutError:
        raise NegativeResult(
            f"probe {probe.run_id} ended without a result", "Its server may have died: `logs` shows that side."
        ) from None
    finally:
        reading.cancel()


async def _read_spool(node: Node, probe: ProbeRun, say: Say) -> bytes:
    spool = pending = b""
    told = _Telling(say)
    async for part in node.agent.follow(probe.spool):
        spool += part.data
        *lines, pending = (pending + part.data).split(b"\n")
        for event in map(parse_event, lines):
            if isinstance(event, Done):
                return spool
            told.take(event)
    return spool


class _Telling:
    """Says how far the probe is: each block, and in between not oftener than every TELL_S seconds."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._at = 0.0
        self._elapsed = 0.0

    def take(self, event: object) -> None:
        if isinstance(event, BlockTrace):
            rate = event.completion_tokens / event.wall_s if event.wall_s else None
            self._say(f"block {event.block + 1}: {format_rate(rate)}")
        elif isinstance(event, Progress):
            self._progress(event)

    def _progress(self, event: Progress) -> None:
        if event.elapsed_s < self._elapsed:  # a new block counts from zero
            self._at = 0.0
        self._elapsed = event.elapsed_s
        if event.elapsed_s - self._at < TELL_S:
            return
        self._at = event.elapsed_s
        where = f"block {event.block + 1}/{event.blocks}" if event.block >= 0 else "warm-up"
        rate = format_rate(event.completion_tokens / event.elapsed_s)
        self._say(f"{where}: {event.done}/{event.of} requests, {event.completion_tokens} tokens, {rate}")


def _api_key(node: Node, profile: Mapping[str, Any]) -> str | None:
    """The key's value, from the variable that the profile names; the record holds the reference only."""
    given = profile.get("api_key")
    name = reference(given) if isinstance(given, str) else ""
    if not name:
        return None
    if name not in node.environ:
        raise UsageError(f"the variable {name} is not set here", f"export {name}=…")
    return node.environ[name]


def _without_run_config(argv: list[str]) -> tuple[str, ...]:
    """The command without the `--config FILE` that the agent added: its path changes with each launch."""
    kept = list(argv)
    if len(kept) > 1 and kept[-2] == "--config" and kept[-1].endswith("/config.yaml"):
        kept = kept[:-2]
    return tuple(kept)


def _devices(
    sample: TelemetrySample, server: ServerRun, profile: Mapping[str, Any]
) -> tuple[tuple[str, ...], tuple[float | None, ...]]:
    listed = server.env.get("CUDA_VISIBLE_DEVICES", "")
    chosen = [int(each) for each in listed.split(",") if each.isdigit()]
    gpus = [gpu for gpu in sample.gpus if gpu.index in chosen] if chosen else sample.gpus[: profile.get("tp_size", 1)]
    return tuple(gpu.name for gpu in gpus), tuple(gpu.power_limit_w for gpu in gpus)
