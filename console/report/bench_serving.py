"""Owns a run in the form of `sglang.bench_serving`'s result file: one JSON line, its keys, and its arithmetic.

Read in SGLang 0.5.12.post1 (bench_serving.py: async_request_sglang_generate, calculate_metrics, benchmark). Where its
definition is another one than ours, its own is computed here; docs/probes.md says how they differ and why. What it
measures in ways that cannot be had again is null: retokenised counts, and the peak rate of a second.
"""

from __future__ import annotations

import json
import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from console.probe.distribution import percentile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.probe.stored import StoredRun
    from console.probe.trace import ProbeTrace, RequestTrace


def bench_serving_line(run: StoredRun, trace: ProbeTrace) -> str:
    """Return the line, its details (`--output-details`) in it."""
    return json.dumps({**_arguments(run), **results(run, trace), **_details(trace)}, allow_nan=False) + "\n"


def results(run: StoredRun, trace: ProbeTrace) -> dict[str, Any]:
    """Return the results. Warm-up and failed requests are not in them; the duration is that of all blocks."""
    requests = _measured(trace)
    duration = math.fsum(block.wall_s for block in trace.blocks)
    inputs = sum(request.prompt_tokens or 0 for request in requests)
    outputs = sum(request.completion_tokens for request in requests)
    return {
        "duration": duration,
        "completed": len(requests),
        "total_input_tokens": inputs,
        "total_output_tokens": outputs,
        "total_output_tokens_retokenized": None,
        "request_throughput": _per(len(requests), duration),
        "input_throughput": _per(inputs, duration),
        "output_throughput": _per(outputs, duration),
        "total_throughput": _per(inputs + outputs, duration),
        **_summary("e2e_latency_ms", [request.e2e_s for request in requests], ("p90", "p99")),
        **_summary("ttft_ms", [ttft for each in requests if (ttft := ttft_s(each)) is not None], ("p99",)),
        **_summary("tpot_ms", [tpot for each in requests if (tpot := tpot_s(each)) is not None], ("p99",)),
        **_summary("itl_ms", [gap for request in requests for gap in itls_s(request)], ("p95", "p99")),
        "concurrency": _per(math.fsum(request.e2e_s for request in requests), duration),
        "accept_length": run.result.accept_len,
        "max_output_tokens_per_s": None,
        "max_concurrent_requests": run.result.concurrency,
    }


def ttft_s(request: RequestTrace) -> float | None:
    """Sent to first event with text."""
    return request.chunks[0][0] if request.chunks else request.first_token_s


def tpot_s(request: RequestTrace) -> float | None:
    """(end of the stream - first event) / (tokens - 1): the first event is taken for one token."""
    first = ttft_s(request)
    return None if first is None or request.completion_tokens < 2 else _share(request, first)


def itls_s(request: RequestTrace) -> list[float]:
    """For each token after the first event its share of the gap between two events."""
    gaps: list[float] = []
    for (before, made), (after, total) in pairwise(request.chunks):
        gaps += [(after - before) / (total - made)] * (total - made)
    return gaps


def _share(request: RequestTrace, first: float) -> float:
    return (request.e2e_s - first) / (request.completion_tokens - 1)


def _measured(trace: ProbeTrace) -> list[RequestTrace]:
    return [request for request in trace.requests if not request.warmup and not request.error]


def _summary(name: str, seconds: Sequence[float], percentiles: tuple[str, ...]) -> dict[str, float | None]:
    """Mean, median, population standard deviation and percentiles, in milliseconds."""
    keys = [f"{kind}_{name}" for kind in ("mean", "median", "std", *percentiles)]
    if not seconds:
        return dict.fromkeys(keys)
    ranked = sorted(1000 * each for each in seconds)
    mean = math.fsum(ranked) / len(ranked)
    spread = math.sqrt(math.fsum((each - mean) ** 2 for each in ranked) / len(ranked))
    values = [mean, percentile(ranked, 50), spread, *(percentile(ranked, int(each[1:])) for each in percentiles)]
    return dict(zip(keys, values, strict=True))


def _per(amount: float, seconds: float) -> float | None:
    return amount / seconds if seconds > 0 else None


def _arguments(run: StoredRun) -> dict[str, Any]:
    load = run.fingerprint.workload
    return {
        "tag": run.run_id,
        "backend": {"completions": "sglang-oai", "chat": "sglang-oai-chat"}.get(str(load.get("api")), "sglang"),
        "dataset_name": load.get("prompt"),
        "request_rate": "inf",
        "max_concurrency": load.get("concurrency"),
        "random_output_len": load.get("max_new_tokens"),
        "server_info": {"version": run.fingerprint.sglang_version, "launch_command": list(run.fingerprint.argv)},
        "simulated": run.fingerprint.simulated,
    }


def _details(trace: ProbeTrace) -> dict[str, Any]:
    requests = _measured(trace)
    return {
        "input_lens": [request.prompt_tokens for request in requests],
        "output_lens": [request.completion_tokens for request in requests],
        "ttfts": [ttft_s(request) for request in requests],
        "itls": [itls_s(request) for request in requests],
        "generated_texts": [request.output_text for request in requests],
        "errors": [request.error for request in requests],
    }
