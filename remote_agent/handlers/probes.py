"""Probes: run on the node under the supervisor, spooled, so that a lost connection loses no measurement."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any, Dict, List

from remote_agent import processes, runs
from remote_agent.handlers.gpus import end_processes
from remote_agent.node import Node
from remote_agent.probe import FINISH
from remote_agent.protocol import MAX_LINE, AgentError, ProbeRun, ProbeRuns, Terminations, from_wire, to_wire
from remote_agent.request import Request, method
from remote_agent.state_dir import read_json, write_atomic

LISTED_BYTES = MAX_LINE // 2


@method(mutates=True)
def start(node: Node, request: Request) -> ProbeRun:
    """Start a probe of `spec` (see remote_agent/probe/run.py); its events are in the spool file."""
    spec = dict(request.get("spec", dict), port=request.get("port", int))
    run_id = runs.new_run_id()
    run_dir = node.state.join("runs", run_id)
    spool = os.path.join(run_dir, "spool.ndjson")
    record = {
        "kind": "probe",
        "operator": request.get("operator", str),
        "argv": [sys.executable, "-I", node.agent_path, "probe", run_dir],
        "cwd": "/",
        "log_path": os.path.join(run_dir, "probe.log"),
        "spool": spool,
        "port": spec["port"],
        "started_at": time.time(),
        "record": request.get("record", dict, {}),
    }
    runs.create(node, run_id, record)
    # The key, if there is one, lies in this file alone: 0600, and never in a record.
    write_atomic(os.path.join(run_dir, "spec.json"), json.dumps(spec).encode())
    os.close(os.open(spool, os.O_WRONLY | os.O_CREAT, 0o600))
    runs.start_supervisor(node, run_dir, dict(os.environ))
    return _probe_run(run_dir, dict(record, run_id=run_id))


@method(mutates=True)
def stop(node: Node, request: Request) -> Terminations:
    """End a probe; what it has spooled stays."""
    run_dir = runs.path_of(node, request.get("run_id", str))
    alive = [who for who in runs.RunState(run_dir).members() if processes.is_alive(who)]
    return Terminations(end_processes(alive, request.get("grace_s", float, 5.0), request))


@method(mutates=True)
def finish(node: Node, request: Request) -> ProbeRun:
    """Let a probe end after the block that it is in; its run is valid. One that has ended stays as it is."""
    run_dir = runs.path_of(node, request.get("run_id", str))
    record = read_json(os.path.join(run_dir, "run.json"))
    if record is None or record.get("kind") != "probe":
        raise AgentError("invalid", f"run {os.path.basename(run_dir)} is not a probe")
    write_atomic(os.path.join(run_dir, FINISH), b"")
    return _probe_run(run_dir, record)


@method()
def list_(node: Node, request: Request) -> ProbeRuns:
    """The newest probes, oldest first: as many as one message holds, for each record has a fingerprint in it."""
    found: List[ProbeRun] = []
    size = 0
    for path, record in reversed(list(runs.each(node, "probe"))):
        run = _probe_run(path, record)
        size += len(json.dumps(to_wire(run)))
        if size > LISTED_BYTES:
            break
        found.append(run)
    return ProbeRuns(found[::-1])


def _probe_run(run_dir: str, record: Dict[str, Any]) -> ProbeRun:
    state = runs.RunState(run_dir)
    return from_wire(
        ProbeRun,
        dict(
            record,
            state=state.name,
            supervisor=to_wire(state.supervisor),
            exit_code=state.exit.get("exit_code"),
            ended_at=state.exit.get("ended_at"),
        ),
    )
