"""Measure one point of a sweep: free the GPUs, launch, read the processes back, probe; or adopt what was begun."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from console.actions import adopt_probe, await_ready, free_gpus, launch_server, run_probe
from console.actions.collect_probe import collect
from console.actions.probe_record import record_of
from console.actions.read_back import read_back
from console.errors import NegativeResult
from console.node.free_plan import FreeRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from console.actions.launch_server import LaunchPlan
    from console.actions.node import Node, Say
    from console.actions.probe_outcome import ProbeOutcome
    from console.actions.sweep import PlannedSweep
    from console.probe.stored import StoredRun
    from console.probe.sweep import SweepPoint
    from remote_agent.protocol import ServerRun


@dataclass(frozen=True, slots=True)
class Measured:
    """The stored run of a point, and what was read back of its processes."""

    run: StoredRun
    verified: str


async def measure(node: Node, planned: PlannedSweep, point: SweepPoint, say: Say) -> Measured:
    """Raises ServerDied, Refused by a finding, NegativeResult: this point failed; others may go."""
    mark = {"id": planned.plan.sweep_id, "point": point.number}
    launch, server = await _adopted(node, planned, point, mark, say)
    if launch is None or server is None:
        await clear(node, planned, say)
        launch = await _plan(node, planned, point)
        server = await launched(node, launch, mark, say)
    read = await read_back(node, server, launch.command, tuple(launch.resolved.profile.env))
    say(read.proof)
    if not read.ok:
        raise NegativeResult(read.proof)
    probed = await _probed(node, planned, server, say)
    if not probed.ok:
        raise NegativeResult(probed.proof, "`logs` shows the server's side.")
    return Measured(probed.run, read.proof)


async def launched(node: Node, launch: LaunchPlan, mark: Mapping[str, Any], say: Say) -> ServerRun:
    """Launch, with the sweep and the point in the run record: a later console knows the server by it."""
    marked = replace(launch, record={**launch.record, "sweep": dict(mark)})
    outcome = await launch_server.run(node, marked, say)
    if not outcome.ok:
        raise NegativeResult(outcome.proof, "`patch verify` shows what the overlay would serve.")
    return outcome.server


async def clear(node: Node, planned: PlannedSweep, say: Say) -> None:
    """End this operator's servers on the GPUs of the sweep, and measure that their memory and ports are free.

    Raises NegativeResult when a process stays; GPUs that others hold are the launch's own question.
    """
    gpus = () if any(key == "gpus" for key in planned.varies) else planned.resolved.profile.gpus or ()
    freeing = await free_gpus.plan(node, FreeRequest(gpus=tuple(gpus)))
    if freeing.servers:
        outcome = await free_gpus.run(node, freeing, say)
        say(outcome.proof)
        if outcome.left:
            raise NegativeResult(outcome.proof, "`status` shows what is left.")


async def _plan(node: Node, planned: PlannedSweep, point: SweepPoint) -> LaunchPlan:
    profile, sets, env = planned.launch_words(point)
    return await launch_server.plan(node, profile, sets, env, planned.request.allow)


async def _adopted(
    node: Node, planned: PlannedSweep, point: SweepPoint, mark: Mapping[str, Any], say: Say
) -> tuple[LaunchPlan | None, ServerRun | None]:
    """The server of this very point, if it runs, was launched by the same command, and comes up."""
    running = [run for run in await node.running() if run.operator == node.operator and run.state == "running"]
    server = next((run for run in running if run.record.get("sweep") == mark), None)
    if server is None:
        return None, None
    launch = await _plan(node, planned, point)
    argv, env = list(launch.command.argv), launch.command.masked_env()
    if server.argv[: len(argv)] != argv or server.env != env:
        say(f"server {server.run_id} is of this point, but was launched by another command: the point is done again")
        return None, None
    say(f"server {server.run_id} of this point still runs: it is adopted")
    ready = await await_ready.follow_until_ready(node, server, launch.resolved.profile.ready_timeout_s, say)
    return launch, ready.server


async def _probed(node: Node, planned: PlannedSweep, server: ServerRun, say: Say) -> ProbeOutcome:
    """The run of this server, measured already or not: a probe goes on while no console is there."""
    load = planned.resolved.profile.probe.given()
    plan = replace(await run_probe.plan(node, server.run_id, overrides=load), kind="sweep")
    kept = [run for run in node.journal.list_runs(node.name, kind="sweep") if run.launch_id == server.run_id]
    whole = next((run for run in kept if run.result.valid), None)
    if whole is not None:
        say(f"run {whole.run_id} of this server is measured already")
        return run_probe.ProbeOutcome(whole)
    for probe in adopt_probe.uncollected(node, await node.agent.probes()):
        record = record_of(probe)
        if record is not None and record.launch_id == server.run_id and record.kind == "sweep":
            say(f"collecting probe {probe.run_id} ({probe.state})")
            found = await collect(node, probe, record, say)
            if found.ok:
                return found
    return await run_probe.run(node, plan, say)
