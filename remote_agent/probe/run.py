"""Owns the course of a probe: `python -m remote_agent.probe.run RUN_DIR`, a process of its own.

Reads `RUN_DIR/spec.json`, appends events to `RUN_DIR/spool.ndjson`: started, flush, progress (at most 4 a second),
request, block, and at last done with `valid`, `why` and `ended_by`. A spool without `done` belongs to a probe that was
killed. A file `RUN_DIR/finish` asks for the end after the block in progress.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any, Dict, List, Optional

from remote_agent.probe import FINISH
from remote_agent.probe.course import Course
from remote_agent.probe.spec import read_spec
from remote_agent.probe.spool import Spool
from remote_agent.protocol.probe.load import Stopped
from remote_agent.protocol.probe.spec import Spec, SpecError

SPOOL_VERSION = 2
STARTED = (
    *("port", "api", "max_new_tokens", "blocks", "requests_per_block", "warmup_requests", "concurrency", "nonce"),
    *("flush_cache", "unique_prefix", "ignore_eos", "temperature", "budget_s", "keep_output", "server_log"),
)


def main(run_dir: str) -> int:
    """Carry out the order in `run_dir`. Return 0 for a valid run, 1 for another; the spool's `done` says why."""
    cancelled: List[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: cancelled.append(number))
    try:
        spool = Spool(run_dir)
    except OSError as error:
        sys.stderr.write(f"the spool cannot be opened: {error}\n")
        return 1
    try:
        outcome = _carry_out(run_dir, spool, cancelled)
        spool.write("done", at=round(time.time(), 6), **outcome)
    except OSError as error:
        sys.stderr.write(f"the spool cannot be written: {error}\n")
        return 1
    finally:
        spool.close()
    return 0 if outcome["valid"] else 1


def _carry_out(run_dir: str, spool: Spool, cancelled: List[int]) -> Dict[str, Any]:
    try:
        spec = read_spec(os.path.join(run_dir, "spec.json"))
    except SpecError as error:
        return _outcome(str(error))
    spool.write("started", **_started(spec))
    finish = os.path.join(run_dir, FINISH)
    course = Course(spec, spool, lambda: bool(cancelled), lambda: os.path.lexists(finish))
    try:
        return _outcome(None, course.run())
    except Stopped as stop:
        return _outcome(spec.masked(str(stop)))


def _outcome(why: Optional[str], ended_by: Optional[str] = None) -> Dict[str, Any]:
    return {"valid": why is None, "why": why or "", "ended_by": ended_by}


def _started(spec: Spec) -> Dict[str, Any]:
    """Return what a reader of the spool needs of the order: neither the key nor the prompts."""
    fields = {name: getattr(spec, name) for name in STARTED}
    fields.update(
        version=SPOOL_VERSION,
        at=round(time.time(), 6),
        pid=os.getpid(),
        python=".".join(str(part) for part in sys.version_info[:3]),
        prompts=len(spec.prompts),
    )
    return fields


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
