"""Collect a probe, running or ended: follow its spool, measure it, keep the run. Who started it does not matter."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from console.actions import server_figures
from console.actions.follow_probe import follow, given_up
from console.actions.probe_outcome import ProbeOutcome
from console.errors import Unreachable
from console.probe.metrics import measure
from console.probe.stored import StoredRun
from console.probe.trace import read_spool
from console.remote.session import LinkLost

if TYPE_CHECKING:
    from console.actions.node import Node, Say
    from console.actions.probe_record import ProbeRecord
    from console.probe.metrics import ProbeResult
    from console.probe.trace import ProbeTrace
    from remote_agent.protocol import ProbeRun

NOTICE_S = 0.1
"""Until the session has noticed that its connection is lost."""


async def collect(node: Node, probe: ProbeRun, record: ProbeRecord, say: Say) -> ProbeOutcome:
    """Wait for the probe's end and keep what it measured, whole or not; a run that is kept already stays as it is.

    Raises:
        NodeLost: the connection was given up; the probe goes on.
    """
    spool = await follow(node, probe, record.stop_rule, say)
    trace = read_spool(spool)
    result = await _beside(node, measure(trace), trace, record, probe)
    stored = StoredRun(
        run_id=probe.run_id,
        at=probe.ended_at or time.time(),
        node=node.name,
        profile=record.profile,
        profile_hash=record.profile_hash,
        fingerprint=record.fingerprint,
        result=result,
        kind=record.kind,
        launch_id=record.launch_id,
    )
    if node.journal.add_run(stored, spool):
        asked = {"server": record.launch_id, "workload": dict(record.fingerprint.workload)}
        node.record(probe.started_at, "probe", asked, {"ok": result.valid, "run": stored.run_id})
    baseline = node.journal.get_run(record.baseline_id) if record.baseline_id else None
    return ProbeOutcome(stored, baseline)


async def _beside(
    node: Node, result: ProbeResult, trace: ProbeTrace, record: ProbeRecord, probe: ProbeRun
) -> ProbeResult:
    """The whole run is here: a connection that is lost only now costs none of it."""
    while True:
        try:
            return await server_figures.beside(node, result, trace, record, probe)
        except LinkLost as error:
            await asyncio.sleep(NOTICE_S)
            try:
                await node.agent.session.connected()
            except Unreachable:
                raise given_up(node, probe, error) from None
