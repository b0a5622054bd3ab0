"""Servers: launch under the supervisor, stop by identity, list from run directories, ask over loopback."""

from __future__ import annotations

import json
import os
import stat
import time
from typing import Any, Dict, Iterator, List, Optional, Set

from remote_agent import processes, runs
from remote_agent.handlers.gpus import end_processes
from remote_agent.node import Node
from remote_agent.protocol import (
    CHUNK,
    MAX_LINE,
    AgentError,
    HttpReply,
    Identity,
    LaunchRequest,
    ProcessEnviron,
    ProcessInfo,
    RunEnviron,
    ServerRun,
    ServerRuns,
    Terminations,
    from_wire,
    to_wire,
)
from remote_agent.request import Request, method
from remote_agent.state_dir import read_json, write_atomic
from remote_agent.timer_lines import timer_lines

MAX_BODY = 128 * 1024
LISTED_BYTES = MAX_LINE * 3 // 4
LIVING = ("starting", "running")
METRICS = "/metrics"
MAX_METRICS = 8 * 1024 * 1024
"""Of GET /metrics that is read; what is sent on is less than MAX_BODY."""
MAX_NAMES = 200
MAX_VALUE = 4096
FOLLOW_S = 5.0
"""Children of an SGLang launcher end by themselves within this time of their parent (sglang.md 9: 4 to 6 s)."""
ALLOWED_PATHS = (
    "/v1/models",
    "/server_info",
    "/get_server_info",
    "/model_info",
    "/get_model_info",
    METRICS,
    "/flush_cache",
)
"""Never /health: from 0.5.1 on it generates a token and writes into the very log that is read."""


@method(mutates=True)
def launch(node: Node, request: Request) -> ServerRun:
    """Start a server that outlives the connection. An existing log is renamed, never truncated."""
    wanted = request.message(LaunchRequest)
    if not wanted.argv:
        raise AgentError("invalid", "an empty command line")
    run_id = runs.new_run_id()
    argv = list(wanted.argv)
    config = node.state.join("runs", run_id, "config.yaml")
    if wanted.secret_config:
        argv += ["--config", config]
    record = {
        "kind": "server",
        "operator": wanted.operator,
        "argv": argv,
        "env": runs.masked(wanted.env, wanted.secret_env),
        "inherited_env": runs.inherited(os.environ, wanted.env),
        "cwd": wanted.cwd or os.path.expanduser("~"),
        "log_path": wanted.log_path,
        "log_offset": 0,
        "port": wanted.port,
        "started_at": time.time(),
        "renamed_log": _move_old_log(wanted.log_path, run_id),
        "record": wanted.record,
    }
    run_dir = runs.create(node, run_id, record)
    if wanted.secret_config:
        write_atomic(config, json.dumps(wanted.secret_config).encode())  # JSON is YAML
    runs.start_supervisor(node, run_dir, dict(os.environ, **wanted.env))
    return _server_run(run_dir, dict(record, run_id=run_id))


@method(mutates=True)
def stop(node: Node, request: Request) -> Terminations:
    """End a server: TERM to its launcher, which drains; what stays of its session is ended process by process."""
    run_dir = runs.path_of(node, request.get("run_id", str))
    grace_s = request.get("grace_s", float, 30.0)
    state = runs.RunState(run_dir)
    members = state.members()
    results = []
    if state.child and processes.is_alive(state.child):
        results += end_processes([state.child], grace_s, request)
        _wait_gone(members, request)
    left = [who for who in {*members, *state.members()} if processes.is_alive(who)]
    results += end_processes(left, min(grace_s, FOLLOW_S), request)
    if state.supervisor:
        _wait_gone([state.supervisor], request)
    return Terminations(results)


@method()
def list_(node: Node, request: Request) -> ServerRuns:
    """Servers as they are now, oldest first: every one that lives, and the newest others that one message holds."""
    among = processes.stats()
    found = [_server_run(path, record, among) for path, record in runs.each(node, "server")]
    sizes = {run.run_id: len(json.dumps(to_wire(run))) for run in found}
    kept = {run.run_id for run in found if run.state in LIVING or run.children}
    left = LISTED_BYTES - sum(sizes[run_id] for run_id in kept)
    for run in reversed(found):
        if run.run_id in kept:
            continue
        left -= sizes[run.run_id]
        if left < 0:
            break
        kept.add(run.run_id)
    return ServerRuns([run for run in found if run.run_id in kept], len(found) - len(kept))


@method()
def environ(node: Node, request: Request) -> RunEnviron:
    """What each living process of a launched server has of the variables that its launch set; secrets masked."""
    run_dir = runs.path_of(node, request.get("run_id", str))
    launched = (read_json(os.path.join(run_dir, "run.json")) or {}).get("env") or {}
    names = [str(name) for name in request.get("names", list)[:MAX_NAMES] if str(name) in launched]
    secret = {name for name in names if launched[name] == runs.MASK}
    members = [who.pid for who in runs.RunState(run_dir).members()]
    return RunEnviron([_environ(info, names, secret) for info in map(processes.info, members) if info])


@method()
def http_(node: Node, request: Request) -> HttpReply:
    """Ask a server on loopback: only paths that generate nothing, and /flush_cache. Of /metrics, what is wanted."""
    import http.client  # brings ssl and email, 4 MB that most agents never need

    path = request.get("path", str)
    if path not in ALLOWED_PATHS:
        raise AgentError("refused", f"the agent does not ask for {path[:80]!r}")
    if path == "/flush_cache" and node.readonly_reason:
        raise AgentError("readonly", f"the agent is read-only: {node.readonly_reason}")
    api_key = request.get("api_key", str, "")
    timeout_s = request.get("timeout_s", float, 5.0)
    started = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", request.get("port", int), timeout=timeout_s)
    try:
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        connection.request("POST" if path == "/flush_cache" else "GET", path, headers=headers)
        answer = connection.getresponse()
        is_long = path == METRICS
        body = timer_lines(_parts(answer, started + timeout_s), MAX_BODY) if is_long else answer.read(MAX_BODY)
        return HttpReply(answer.status, body.decode("utf-8", "replace"), "", round(time.monotonic() - started, 4))
    except (OSError, http.client.HTTPException) as error:
        return HttpReply(0, "", str(error) or type(error).__name__, round(time.monotonic() - started, 4))
    finally:
        connection.close()


def _parts(answer: Any, deadline: float) -> Iterator[bytes]:
    """A long answer, up to MAX_METRICS. Raises OSError when it takes longer than until `deadline`."""
    left = MAX_METRICS
    while left > 0:
        part = answer.read1(min(left, CHUNK))
        if not part:
            if answer.length:
                raise OSError("the answer was cut short")
            return
        left -= len(part)
        yield part
        if time.monotonic() > deadline:
            raise OSError("the answer took too long")


def _environ(info: ProcessInfo, names: List[str], secret: Set[str]) -> ProcessEnviron:
    pid = info.identity.pid
    try:
        found = processes.environ(pid)
    except OSError as error:
        return ProcessEnviron(pid, info.title, {}, error.strerror or str(error))
    if found is None:
        return ProcessEnviron(pid, info.title, {}, "its title was written over it")
    shown = {name: runs.MASK if name in secret and found.get(name) else found.get(name) for name in names}
    return ProcessEnviron(pid, info.title, {name: value and value[:MAX_VALUE] for name, value in shown.items()})


def _move_old_log(log_path: str, run_id: str) -> Optional[str]:
    try:
        info = os.stat(log_path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise AgentError("permission", f"the log {log_path} cannot be looked at: {error.strerror}") from None
    if not stat.S_ISREG(info.st_mode) or info.st_size == 0:
        return None
    renamed = f"{log_path}.{run_id}"
    try:
        os.rename(log_path, renamed)
    except OSError as error:
        raise AgentError("permission", f"the old log {log_path} cannot be renamed: {error.strerror}") from None
    return renamed


def _wait_gone(members: List[Identity], request: Request) -> None:
    deadline = time.monotonic() + FOLLOW_S
    while time.monotonic() < deadline and not request.is_stopped:
        waiting = [who.pid for who in members if processes.is_alive(who)]
        if not waiting:
            return
        request.progress(waiting=waiting, left_s=round(deadline - time.monotonic(), 1))
        time.sleep(0.05)


def _server_run(run_dir: str, record: Dict[str, Any], among: Optional[processes.Stats] = None) -> ServerRun:
    state = runs.RunState(run_dir)
    living = (processes.info(who.pid) for who in state.members(among))
    return from_wire(
        ServerRun,
        dict(
            record,
            state=state.name,
            supervisor=to_wire(state.supervisor),
            child=to_wire(state.child),
            children=[to_wire(each) for each in living if each],
            exit_code=state.exit.get("exit_code"),
            exit_signal=state.exit.get("exit_signal"),
            ended_at=state.exit.get("ended_at"),
        ),
    )
