"""The probe as a process of its own, in a run directory, and the loads that its tests give it."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
from pathlib import Path

from console.probe.metrics import measure
from console.probe.trace import read_spool
from console.probe.workload import Workload

ROOT = Path(__file__).parents[2]
PAIR = Workload("input_ids", input_ids=((5, 17, 300),), max_new_tokens=400, requests_per_block=2, blocks=2, warmup=1)
ONE = dataclasses.replace(PAIR, requests_per_block=1, blocks=1, warmup=0)
FOUR = dataclasses.replace(ONE, max_new_tokens=4)


class Probe:
    """A run directory and the process that works in it."""

    def __init__(self, python, run_dir):
        self.python, self.run_dir = python, run_dir

    def start(self, spec):
        path = self.run_dir / "spec.json"
        path.write_text(json.dumps(spec))
        path.chmod(0o600)
        command = [self.python, "-B", "-m", "remote_agent.probe.run", str(self.run_dir)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, **pipes)

    def run(self, spec):
        with self.start(spec) as process:
            out, err = process.communicate(timeout=100)
        assert out == b"", "the agent's streams are not for printing"
        assert err == b""
        return process.returncode

    @property
    def spool(self):
        return (self.run_dir / "spool.ndjson").read_bytes()

    @property
    def events(self):
        return [json.loads(each) for each in self.spool.splitlines()]

    @property
    def result(self):
        return measure(read_spool(self.spool))
