"""Probe a server on its node: start, follow the spool, measure, keep with full provenance."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from console.actions import adopt_probe, device_time, read_log
from console.actions.collect_probe import collect
from console.actions.follow_probe import ALIVE
from console.actions.probe_outcome import ProbeOutcome
from console.actions.probe_record import ProbeRecord, StopRule
from console.actions.provenance import fingerprint_of
from console.errors import ConsoleError, Refused, UsageError
from console.launch.secrets import reference
from console.probe.workload import Workload, workload_from_profile
from console.units import format_percent, plain
from remote_agent.protocol import ServerRun

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from console.actions.node import Node, Say
    from console.probe.fingerprint import Fingerprint
    from console.probe.stored import StoredRun
    from remote_agent.protocol import ProbeRun

__all__ = ["ProbeOutcome", "ProbePlan", "fingerprint_of", "load_of", "plan", "run"]


@dataclass(frozen=True, slots=True)
class ProbePlan:
    """The server, and what it will be asked."""

    server: ServerRun
    workload: Workload
    key_variable: str = ""
    """The variable of the console's environment that holds the API key; empty without one."""
    server_log: str = ""
    log_problem: str = ""
    """Why the server's log is not known; empty when it is."""
    kind: str = "probe"
    """As in StoredRun."""

    @property
    def profile(self) -> dict[str, Any]:
        return dict(self.server.record.get("profile") or {})

    def key(self, node: Node) -> str | None:
        """The API key's value; the plan and every record hold its variable's name only. Raises UsageError."""
        if not self.key_variable:
            return None
        if self.key_variable not in node.environ:
            raise UsageError(f"the variable {self.key_variable} is not set here", f"export {self.key_variable}=…")
        return node.environ[self.key_variable]

    def lines(self) -> Iterator[str]:
        load = self.workload
        yield f"probe server {self.server.run_id or 'without a run record'} on port {self.server.port}"
        yield from workload_lines(load)
        if self.log_problem:
            yield f"server's own figures: not known: {plain(self.log_problem)}"


def workload_lines(load: Workload) -> Iterator[str]:
    """What is sent, and how often."""
    number = f"{load.blocks} or more" if load.adaptive else str(load.blocks)
    yield (
        f"{number} blocks of {load.requests_per_block} requests, {load.max_new_tokens} tokens each, "
        f"concurrency {load.concurrency}, temperature {load.temperature:g}, after {load.warmup} warm-up"
    )
    if load.adaptive:
        yield f"until the interval is ± {format_percent(load.half_width)} or {load.budget_min:g} min are over"
    elif load.budget_min is not None:
        yield f"no further block is begun after {load.budget_min:g} min"
    model = f" of model {plain(load.model)}" if load.model else ""
    yield f"prompt {load.prompt_name} to {load.api}{model}; cache flushed before each block: {load.flush_cache}"


async def plan(
    node: Node,
    server: str | None = None,
    port: int | None = None,
    overrides: Mapping[str, Any] | None = None,
    key_variable: str | None = None,
) -> ProbePlan:
    """Find the server and its workload; `key_variable` goes over the profile's own. Raises UsageError."""
    run = await _server(node, server, port)
    workload = workload_from_profile(load_of(run.record, overrides or {}))
    if run.operator != node.operator:
        workload = replace(workload, flush_cache=False)
    variable = key_variable or _key_variable(run.record.get("profile") or {})
    log, problem = await _log_of(node, run)
    planned = ProbePlan(run, workload, variable, log, problem)
    planned.key(node)
    return planned


async def refusal(node: Node, plan: ProbePlan) -> Refused | None:
    """Why the plan would not be carried out now; None when nothing is in the way."""
    return _refusal(node, plan.server.port, await node.agent.probes())


def load_of(record: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """The profile's load, with what the user gave over it; an option that was not given changes nothing."""
    given = (record.get("profile") or {}).get("probe") or {}
    layers = {**given, **{key: value for key, value in overrides.items() if value is not None}}
    return {key: value for key, value in layers.items() if value is not None}


async def run(node: Node, plan: ProbePlan, say: Say) -> ProbeOutcome:
    """Start the probe and wait for its end; a lost connection is resumed, the probe goes on meanwhile.

    Raises:
        Refused: another probe runs against this server.
        NodeLost: the connection was given up; the probe goes on, and is collected by `probe NODE --adopt`.
    """
    await _check_others(node, plan.server.port, say)
    record = await _record(node, plan)
    load = plan.workload
    spec = load.to_spec(plan.server.port, plan.key(node), plan.server_log or None)
    told = {"server": plan.server.run_id, "workload": load.identity(), "run": record.to_json()}
    probe = await node.agent.start_probe(plan.server.port, spec, told)
    say(f"probe {probe.run_id} started")
    try:
        return await collect(node, probe, record, say)
    except asyncio.CancelledError:
        await asyncio.shield(_stop(node, probe, record, say))
        raise


async def _stop(node: Node, probe: ProbeRun, record: ProbeRecord, say: Say) -> None:
    """End it, and keep what it has as a run that is not valid: else the next connect would offer it."""
    try:
        await node.agent.stop_probe(probe.run_id)
        outcome = await collect(node, probe, record, lambda _line: None)
    except ConsoleError as error:
        hint = f"`probe {node.name} --adopt {probe.run_id}` keeps its result"
        say(f"probe {probe.run_id} was not ended, or is not kept: {error.message}; {hint}")
    else:
        say(f"probe {probe.run_id} was ended; kept: {outcome.proof}")


def _refusal(node: Node, port: int, probes: list[ProbeRun]) -> Refused | None:
    """Why no probe is started against a port; None when nothing is in the way."""
    other = next((each for each in probes if each.port == port and each.state in ALIVE), None)
    if other is None:
        return None
    return Refused(
        f"probe {other.run_id} of {other.operator} runs against port {port}: both would measure each other",
        f"`probe {node.name} --adopt {other.run_id}` waits for it and keeps its result.",
    )


async def _check_others(node: Node, port: int, say: Say) -> None:
    probes = await node.agent.probes()
    if why := _refusal(node, port, probes):
        raise why
    for line in adopt_probe.notice(node, probes):
        say(line)


async def _record(node: Node, plan: ProbePlan) -> ProbeRecord:
    fingerprint, load = await fingerprint_of(node, plan), plan.workload
    baseline = _baseline(node, plan, fingerprint)
    rates = baseline.result.blocks if baseline else ()
    timer = await device_time.read(node, plan.server.port)
    return ProbeRecord(
        profile=str(plan.profile.get("name", "")),
        profile_hash=str(plan.server.record.get("profile_sha256", "")),
        launch_id=plan.server.run_id,
        fingerprint=fingerprint,
        kind=plan.kind,
        server_log=plan.server_log,
        log_problem=plan.log_problem,
        baseline_id=baseline.run_id if baseline else "",
        stop_rule=StopRule(load.half_width, load.blocks, rates) if load.adaptive else None,
        timer=None if isinstance(timer, str) else timer,
        timer_why=timer if isinstance(timer, str) else "",
    )


def _baseline(node: Node, plan: ProbePlan, fingerprint: Fingerprint) -> StoredRun | None:
    """The stored run that the profile says this one is held against."""
    declared = plan.profile.get("baseline") or {}
    if not declared:
        return None
    varies = declared.get("varies") or ("speculative",)
    return node.journal.find_baseline(node.name, fingerprint, varies, declared.get("profile"))


async def _server(node: Node, server: str | None, port: int | None) -> ServerRun:
    """The server that is meant; one that listens on `port` without a run record is somebody else's."""
    if server is None and port is not None and all(run.port != port for run in await node.running()):
        holders = (await node.agent.port(port)).holders
        if holders:
            return ServerRun("", "", holders[0].argv, {}, "", "", 0, port, 0.0, "running", child=holders[0].identity)
    return await node.server(server, port)


async def _log_of(node: Node, run: ServerRun) -> tuple[str, str]:
    """The file that the server writes, or why it is not known."""
    found = read_log.of_run(node, run) if run.log_path else read_log.find(node, port=run.port)
    try:
        return (await found).path, ""
    except (UsageError, Refused) as error:
        return "", error.message


def _key_variable(profile: Mapping[str, Any]) -> str:
    """The variable that the profile's `api_key` refers to; the record holds the reference only."""
    given = profile.get("api_key")
    return reference(given) if isinstance(given, str) else ""
