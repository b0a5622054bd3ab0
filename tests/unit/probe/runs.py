"""Traces and stored runs for tests, with plain defaults."""

from __future__ import annotations

import dataclasses
import json
from itertools import accumulate
from pathlib import Path
from typing import Any

from console.probe.fingerprint import Fingerprint
from console.probe.metrics import ProbeResult
from console.probe.stored import StoredRun
from console.probe.trace import BlockTrace, Done, ProbeTrace, RequestTrace
from console.probe.workload import Workload

PAIR_HISTOGRAM = (8, 10, 7, 4, 5, 52)
"""Accepted drafts of the crafted pair over 400 tokens, wired as trained."""


STREAM = Path(__file__).parents[2] / "data" / "probe" / "tp4-eagle3.stream.txt"


def recorded_events() -> list[dict[str, Any]]:
    """The events of a real stream of /generate: SGLang 0.5.12.post1, 4 x H200, 60 tokens in 14 verifications."""
    lines = STREAM.read_text().splitlines()
    return [json.loads(line[6:]) for line in lines if line.startswith("data: {")]


def recorded_request() -> RequestTrace:
    """The real stream as a trace. The server tells when it was received, begun and finished (30.9 and 105.7 ms).

    The times of the 13 chunks in between were not recorded: they are invented, unevenly, so that a formula that mixes
    them up shows.
    """
    metas = [event["meta_info"] for event in recorded_events()]
    last = metas[-1]
    first_s = last["response_sent_to_client_ts"] - last["request_received_ts"]
    steps = [0, *accumulate(1 + n % 3 for n in range(len(metas) - 1))]
    times = [first_s + (last["e2e_latency"] - first_s) * step / steps[-1] for step in steps]
    chunks = tuple((at, meta["completion_tokens"]) for at, meta in zip(times, metas, strict=True))
    return RequestTrace(
        *(0, 0, False, chunks, 60, last["e2e_latency"]),
        sent_at=last["request_received_ts"],
        prompt_tokens=3,
        cached_tokens=1,
        finish_reason="length",
        meta_info=last,
    )


def pair_chunks(cycle_s: float = 0.01, ttft_s: float = 0.05) -> tuple[tuple[float, int], ...]:
    """The chunks of one request to the crafted pair: 1 + 399 tokens in 86 verifications, the last one cut."""
    drafts = [i for i, count in enumerate(PAIR_HISTOGRAM) for _ in range(count)]
    chunks = [(ttft_s, 1)]
    for n, each in enumerate(drafts, 1):
        chunks.append((round(ttft_s + n * cycle_s, 6), min(400, chunks[-1][1] + each + 1)))
    assert chunks[-1][1] == 400
    return tuple(chunks)


def pair_request(block: int = 0, index: int = 0, **changes: Any) -> RequestTrace:
    """One request of 400 tokens in 86 verifications."""
    meta = {"spec_verify_ct": 86, "spec_correct_drafts_histogram": list(PAIR_HISTOGRAM), "completion_tokens": 400}
    fields: dict[str, Any] = {
        "block": block,
        "index": index,
        "warmup": False,
        "chunks": pair_chunks(),
        "completion_tokens": 400,
        "e2e_s": 0.92,
        "prompt_tokens": 15,
        "cached_tokens": 1,
        "finish_reason": "length",
        "meta_info": meta,
    }
    return RequestTrace(**{**fields, **changes})


def trace(*requests: RequestTrace, **changes: Any) -> ProbeTrace:
    """A finished, valid run of one block that took a second."""
    measured = [r for r in requests if not r.warmup]
    tokens = sum(r.completion_tokens for r in measured)
    block = BlockTrace(0, len(measured), tokens, 1.0, 0.01)
    return ProbeTrace(**{"requests": requests, "blocks": (block,), "done": Done(True, ""), **changes})


ARGV = ("python", "-m", "sglang.launch_server", "--model-path", "/models/target", "--tp-size", "8", "--port", "8000")
SPECULATIVE = (
    *ARGV,
    "--speculative-algorithm",
    "EAGLE3",
    "--speculative-draft-model-path",
    "/models/draft",
    "--speculative-num-steps",
    "5",
)


def fingerprint(**changes: Any) -> Fingerprint:
    """A real node with eight GPUs."""
    fields: dict[str, Any] = {
        "sglang_version": "0.5.9",
        "git_head": "a" * 40,
        "git_dirty": False,
        "argv": ARGV,
        "env": {"NCCL_PROTO": "LL"},
        "gpu_names": ("NVIDIA H200",) * 8,
        "power_limits_w": (700.0,) * 8,
        "driver": "580.65",
        "workload": Workload("chat", ("Hello.",)).identity(),
        "hostname": "gpu-node-1",
        "machine_id": "m1",
    }
    return Fingerprint(**{**fields, **changes})


def result(*blocks: float, **changes: Any) -> ProbeResult:
    """A valid result with these blocks."""
    fields: dict[str, Any] = {"valid": True, "why": "", "requests": 4 * len(blocks), "completion_tokens": 1000}
    return ProbeResult(**{**fields, "blocks": blocks, **changes})


def stored(*blocks: float, run_id: str = "run-1", at: float = 1000.0, **changes: Any) -> StoredRun:
    """A stored run with these blocks; `changes` go to the run, the fingerprint or the result, by name of the field."""
    run_fields = {f.name for f in dataclasses.fields(StoredRun)}
    print_fields = {f.name for f in dataclasses.fields(Fingerprint)}
    of_print = {k: v for k, v in changes.items() if k in print_fields}
    of_run = {k: v for k, v in changes.items() if k in run_fields}
    of_result = {k: v for k, v in changes.items() if k not in run_fields | print_fields}
    base = StoredRun(run_id, at, "gpu-node-1", "baseline", "h1", fingerprint(**of_print), result(*blocks, **of_result))
    return dataclasses.replace(base, **of_run)


def line(event: str, **fields: Any) -> bytes:
    """One line of a spool."""
    return json.dumps({"event": event, **fields}).encode() + b"\n"
