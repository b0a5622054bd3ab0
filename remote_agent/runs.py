"""Run directories: what a launched server or probe leaves behind, and whether it still lives.

`runs/<run id>/` (0700): run.json (what was asked, secrets masked), process.json (written by the supervisor: who it and
its child are), exit.json (how the child ended).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

from remote_agent import processes
from remote_agent.node import Node
from remote_agent.protocol import AgentError, Identity, ProtocolError, from_wire
from remote_agent.state_dir import read_json, write_json

START_TIMEOUT_S = 20.0
MASK = "***"
INHERITED = ("SGLANG_", "NCCL_", "EAGLE3_", "CUDA_", "SIMULATE_ACC_LEN")
"""Variables that change what a server does or how fast, by how their names begin."""
MAX_INHERITED = 64
MAX_INHERITED_VALUE = 500
# The console's own rule (console/launch/secrets.py); a value that looks like a key is none of these variables' values.
_SECRET_NAME = re.compile(r"(^|_)(TOKEN|API_?KEY|ACCESS_?KEY|KEY|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)
_RUN_ID = re.compile(r"[0-9]{8}T[0-9]{6}-[0-9a-f]{6}")


def new_run_id() -> str:
    """Sorts by time: 20261130T010203-a1b2c3 (UTC; three digits of 1/4096 s, three by chance)."""
    now = time.time()
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(now))
    return f"{stamp}-{int(now % 1 * 4096):03x}{int.from_bytes(os.urandom(2), 'big') % 4096:03x}"


def is_run_id(text: str) -> bool:
    """Has it the form of one?"""
    return bool(_RUN_ID.fullmatch(text))


def create(node: Node, run_id: str, record: Mapping[str, Any]) -> str:
    """Make the run directory with its run.json."""
    path = node.state.make("runs", run_id)
    write_json(os.path.join(path, "run.json"), dict(record, run_id=run_id))
    return path


def path_of(node: Node, run_id: str) -> str:
    """Raises AgentError: invalid for what is no run id, not_found for a run that is not here."""
    if not is_run_id(run_id):
        raise AgentError("invalid", f"not a run id: {run_id[:80]!r}")
    path = node.state.join("runs", run_id)
    if not os.path.isdir(path):
        raise AgentError("not_found", f"no run {run_id} on this node")
    return path


def each(node: Node, kind: str) -> Iterator[Tuple[str, Dict[str, Any]]]:
    """(path, run.json) of every run of a kind, oldest first."""
    for name in node.state.names("runs"):
        path = node.state.join("runs", name)
        record = read_json(os.path.join(path, "run.json"))
        if record and record.get("kind") == kind:
            yield path, record


def start_supervisor(node: Node, run_dir: str, env: Mapping[str, str]) -> None:
    """Start the supervisor in a session of its own and wait until it has told who it is, or how it failed."""
    if node.agent_path is None:
        raise AgentError("readonly", "the agent runs from stdin and cannot start what must outlive it")
    with open(os.path.join(run_dir, "supervise.log"), "ab") as log:
        starter = subprocess.Popen(
            [sys.executable, "-I", node.agent_path, "supervise", run_dir],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=dict(env),
            cwd="/",
            start_new_session=True,
        )
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        outcome = read_json(os.path.join(run_dir, "exit.json"))
        if outcome and outcome.get("error"):
            starter.wait(START_TIMEOUT_S)
            raise AgentError("failed", str(outcome["error"]))
        if read_json(os.path.join(run_dir, "process.json")):
            return
        if starter.poll() is not None and not outcome:
            break
        time.sleep(0.02)
    raise AgentError("failed", "the supervisor did not start", detail=tail(os.path.join(run_dir, "supervise.log")))


def tail(path: str, limit: int = 4096) -> str:
    """The end of a text file; empty when it cannot be read."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - limit))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


class RunState:
    """What is known of a run now."""

    def __init__(self, run_dir: str) -> None:
        told = read_json(os.path.join(run_dir, "process.json")) or {}
        self.exit = read_json(os.path.join(run_dir, "exit.json")) or {}
        self.supervisor = _identity(told.get("supervisor"))
        self.child = _identity(told.get("child"))
        self.name = self._name()

    def _name(self) -> str:
        if self.exit:
            return "exited"
        if self.child is None:
            return "starting" if self.supervisor is None or processes.is_alive(self.supervisor) else "lost"
        return "running" if processes.is_alive(self.child) else self._ending()

    def _ending(self) -> str:
        """The child is gone and not yet recorded: its supervisor is about to write it, or is gone too."""
        return "running" if self.supervisor and processes.is_alive(self.supervisor) else "lost"

    def members(self, among: Optional[processes.Stats] = None) -> List[Identity]:
        """Living processes of the run, the supervisor left out: its session, and the tree below the child.

        `among`: what was read of all processes, for whoever asks of many runs; without it they are read now.
        """
        if self.supervisor is None:
            return []
        among = processes.stats() if among is None else among
        pids = set()
        if self.supervisor.boot_id == processes.boot_id():
            pids.update(processes.session_members(self.supervisor.pid, self.supervisor.start_ticks, among))
        if self.child and processes.is_alive(self.child):
            pids.add(self.child.pid)
            pids.update(processes.descendants(self.child.pid, among))
        pids.discard(self.supervisor.pid)
        found = (processes.identity(pid) for pid in sorted(pids))
        return [who for who in found if who is not None]


def masked(env: Mapping[str, str], secret_names: List[str]) -> Dict[str, str]:
    return {name: MASK if name in secret_names else value for name, value in env.items()}


def inherited(environ: Mapping[str, str], given: Mapping[str, str]) -> Dict[str, str]:
    """What a server gets of the agent's own environment beside what its launch gives: by INHERITED, secrets masked."""
    names = sorted(name for name in environ if name.startswith(INHERITED) and name not in given)
    return {_told(name): MASK if _SECRET_NAME.search(name) else _told(environ[name]) for name in names[:MAX_INHERITED]}


def _told(text: str) -> str:
    """As it can be sent: no lone surrogates (bytes that are no UTF-8), no megabytes."""
    return text.encode("utf-8", "replace").decode("utf-8")[:MAX_INHERITED_VALUE]


def _identity(value: Any) -> Optional[Identity]:
    try:
        return from_wire(Identity, value)
    except ProtocolError:
        return None
