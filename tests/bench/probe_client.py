"""What the probe costs the node that it measures: `python -m tests.bench.probe_client` prints its share of a core.

The probe runs as on a node, against a stand-in server in another process: every stream an event each 40 ms (25 a
second, four tokens each), in step as a batch is, and scattered, which no batch does. Design 12: < 5 % at 64 streams,
else the result says client-bound.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from console.probe.metrics import measure
from console.probe.trace import read_spool
from console.probe.workload import Workload
from tests.agent.rate_server import ROOT, Rate, running

STREAMS = (1, 8, 64)
STEPS = 200
PER_STEP = (1, 6, 3, 6)


def main() -> None:
    print(f"share of a core; {STEPS} events of {sum(PER_STEP) / len(PER_STEP):g} tokens at 25 a second and stream")
    print(f"{'':<26}" + "".join(f"{streams:>4} stream{'s' if streams > 1 else ' '}" for streams in STREAMS))
    for is_cumulative in (True, False):
        for is_scattered in (False, True):
            form = "cumulative" if is_cumulative else "incremental"
            name = f"{form}, {'scattered' if is_scattered else 'in step'}"
            shares = [_share(streams, is_cumulative, is_scattered) for streams in STREAMS]
            print(f"{name:<26}" + "".join(f"{share:>12.2%}" for share in shares))


def _share(streams: int, is_cumulative: bool, is_scattered: bool) -> float:
    rate = Rate(STEPS, PER_STEP, is_cumulative=is_cumulative, is_scattered=is_scattered)
    load = Workload(
        "text",
        ("Some words. " * 300,),
        max_new_tokens=rate.counts[-1],
        requests_per_block=streams,
        blocks=1,
        warmup=0,
        concurrency=streams,
    )
    with running(rate) as port, tempfile.TemporaryDirectory() as folder:
        Path(folder, "spec.json").write_text(json.dumps(load.to_spec(port)))
        command = [sys.executable, "-m", "remote_agent.probe.run", folder]
        subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})
        result = measure(read_spool(Path(folder, "spool.ndjson").read_bytes()))
    assert result.valid, result.why
    assert result.completion_tokens == streams * rate.counts[-1]
    return result.client_cpu_share or 0.0


if __name__ == "__main__":
    main()
