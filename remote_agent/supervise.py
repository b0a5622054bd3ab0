"""The tiny parent of a launched server or probe: leads the session, waits, records how the child ended.

Started by `runs.start_supervisor` with the child's environment. It outlives the connection; the child runs in a process
group of its own inside the supervisor's session.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from typing import Any, Dict, Optional

from remote_agent import processes
from remote_agent.protocol import to_wire
from remote_agent.state_dir import read_json, write_json


def main(run_dir: str) -> int:
    """Run the child of `run_dir`/run.json and record its end in exit.json."""
    record = read_json(os.path.join(run_dir, "run.json"))
    if record is None:
        return 2
    child = _start(run_dir, record)
    if child is None:
        return 1
    write_json(
        os.path.join(run_dir, "process.json"),
        {"supervisor": to_wire(processes.identity(os.getpid())), "child": to_wire(processes.identity(child.pid))},
    )
    for number in (signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, _frame: child.send_signal(number))
    code = child.wait()
    _record_exit(run_dir, {"exit_code": code if code >= 0 else None, "exit_signal": -code if code < 0 else None})
    return 0


def _start(run_dir: str, record: Dict[str, Any]) -> Optional[subprocess.Popen[bytes]]:
    log_path = record["log_path"]
    try:
        # A reader that tails by name must never see the log of another user: created private, appended only.
        fd = os.open(log_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOCTTY, 0o600)
    except OSError as error:
        _record_exit(run_dir, {"error": f"the log {log_path} cannot be opened: {error.strerror}"})
        return None
    try:
        return subprocess.Popen(
            record["argv"],
            stdin=subprocess.DEVNULL,
            stdout=fd,
            stderr=fd,
            cwd=record["cwd"],
            preexec_fn=os.setpgrp,
        )
    except OSError as error:
        _record_exit(run_dir, {"error": f"{record['argv'][0]} cannot be started: {error.strerror} ({error.filename})"})
        return None
    finally:
        os.close(fd)


def _record_exit(run_dir: str, outcome: Dict[str, Any]) -> None:
    write_json(os.path.join(run_dir, "exit.json"), dict(outcome, ended_at=time.time()))
