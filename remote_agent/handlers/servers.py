"""Servers: launch under the supervisor, stop by identity, list from run directories, ask over loopback."""

from __future__ import annotations

import json
import os
import stat
import time
from typing import Any, Dict, List, Optional

from remote_agent import processes, runs
from remote_agent.handlers.gpus import end_processes
from remote_agent.node import Node
from remote_agent.protocol import (
    AgentError,
    HttpReply,
    Identity,
    LaunchRequest,
    ServerRun,
    ServerRuns,
    Terminations,
    from_wire,
    to_wire,
)
from remote_agent.request import Request, method
from remote_agent.state_dir import write_atomic

MAX_BODY = 128 * 1024
FOLLOW_S = 5.0
"""Children of an SGLang launcher end by themselves within this time of their parent (sglang.md 9: 4 to 6 s)."""
ALLOWED_PATHS = ("/v1/models", "/server_info", "/get_server_info", "/model_info", "/get_model_info", "/flush_cache")
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
    """Every server's run record of this state directory, with what it is now."""
    return ServerRuns([_server_run(path, record) for path, record in runs.each(node, "server")])


@method()
def http_(node: Node, request: Request) -> HttpReply:
    """Ask a server on loopback: only paths that generate nothing, and /flush_cache."""
    import http.client  # brings ssl and email, 4 MB that most agents never need

    path = request.get("path", str)
    if path not in ALLOWED_PATHS:
        raise AgentError("refused", f"the agent does not ask for {path[:80]!r}")
    if path == "/flush_cache" and node.readonly_reason:
        raise AgentError("readonly", f"the agent is read-only: {node.readonly_reason}")
    api_key = request.get("api_key", str, "")
    started = time.monotonic()
    connection = http.client.HTTPConnection(
        "127.0.0.1", request.get("port", int), timeout=request.get("timeout_s", float, 5.0)
    )
    try:
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        connection.request("POST" if path == "/flush_cache" else "GET", path, headers=headers)
        answer = connection.getresponse()
        body = answer.read(MAX_BODY).decode("utf-8", "replace")
        return HttpReply(answer.status, body, "", round(time.monotonic() - started, 4))
    except (OSError, http.client.HTTPException) as error:
        return HttpReply(0, "", str(error) or type(error).__name__, round(time.monotonic() - started, 4))
    finally:
        connection.close()


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


def _server_run(run_dir: str, record: Dict[str, Any]) -> ServerRun:
    state = runs.RunState(run_dir)
    living = (processes.info(who.pid) for who in state.members())
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
