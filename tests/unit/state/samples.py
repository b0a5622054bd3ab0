"""Small values of the wire, for states."""

from __future__ import annotations

from typing import Any

from console.node.holders import Holder
from remote_agent.protocol import GpuSample, Hello, Identity, ProcessInfo, ServerRun, TelemetrySample

TOTAL = 140 << 30


def hello(readonly: bool = False, reason: str = "") -> Hello:
    return Hello("spec-console-agent", 1, "0" * 64, 7, "3.11.2", "boot", "machine", readonly, reason)


def gpu_sample(index: int, used: int | None) -> GpuSample:
    return GpuSample(index, f"GPU-{index}", "H200", TOTAL, used, 50, 40, 300.0, 700.0)


def telemetry(*index_and_used: int | None) -> TelemetrySample:
    pairs = zip(index_and_used[::2], index_and_used[1::2], strict=True)
    return TelemetrySample(1.0, "smi", "", [gpu_sample(index or 0, used) for index, used in pairs])


def process(pid: int, title: str, user: str = "me") -> ProcessInfo:
    return ProcessInfo(Identity(pid, 1, "boot"), 1, pid, pid, 1000, user, title[:15], [title], "S", 61.0)


def holder(gpu: int, kind: Any, title: str = "sglang::scheduler_TP0", pid: int = 100) -> Holder:
    return Holder(pid, kind, ((gpu, 8 << 30),), "smi", process(pid, title))


def run(run_id: str, operator: str, state: str = "running", **values: Any) -> ServerRun:
    given = {"argv": ["python"], "env": {}, "cwd": "/", "log_path": "/log", "log_offset": 0, "port": 30000}
    return ServerRun(run_id=run_id, operator=operator, started_at=1.0, state=state, **{**given, **values})
