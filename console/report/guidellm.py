"""Owns a run under guidellm's names and by its definitions: the part of its report that people read, as JSON.

Read in guidellm 0.8.1 (schemas/base/request_stats.py, schemas/base/statistics.py, benchmark/schemas/metrics.py). Its
`time_per_output_token_ms` holds the time to the first token; its `inter_token_latency_ms` is what others call TPOT.
Means and percentiles of those two weigh each request by its tokens. This is no whole report of guidellm's: what it
keeps of its own scheduler is not there, and its loader does not take it.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from console.probe.stored import StoredRun
    from console.probe.trace import ProbeTrace, RequestTrace

PERCENTILES = {"p01": 1, "p05": 5, "p10": 10, "p25": 25, "p50": 50, "p75": 75, "p90": 90, "p95": 95, "p99": 99}

_WEIGHTS: dict[str, Callable[[dict[str, Any]], float]] = {
    "time_per_output_token_ms": lambda each: float(each["output_tokens"]),
    "inter_token_latency_ms": lambda each: float(each["output_tokens"] - 1),
}
_METRICS = (
    "request_latency",
    "time_to_first_token_ms",
    "time_per_output_token_ms",
    "inter_token_latency_ms",
    "output_tokens_per_iteration",
)


def guidellm_report(run: StoredRun, trace: ProbeTrace) -> str:
    """Return the JSON."""
    requests = [request_stats(each) for each in trace.requests if not each.warmup and not each.error]
    duration = math.fsum(block.wall_s for block in trace.blocks)
    tokens = sum(each["output_tokens"] for each in requests)
    rate = {"output_tokens_per_second": {"successful": {"mean": tokens / duration}}} if duration else {}
    summaries = {name: {"successful": summary(requests, name)} for name in _METRICS}
    benchmark = {
        "type_": "generative_benchmark",
        "duration": duration,
        "metrics": {**summaries, **rate},
        "requests": {"successful": requests},
    }
    about = {"by": "spec-console", "run": run.run_id, "simulated": run.fingerprint.simulated, "partial": True}
    return json.dumps({"metadata": about, "benchmarks": [benchmark]}, allow_nan=False, indent=1) + "\n"


def request_stats(request: RequestTrace) -> dict[str, Any]:
    """Return one request as guidellm computes it; None where its events do not count."""
    tokens, chunks = request.completion_tokens, request.chunks
    first = chunks[0][0] if chunks else request.first_token_s
    last = chunks[-1][0] if chunks else None
    total = tokens + (request.prompt_tokens or 0)
    return {
        "request_id": f"{request.block}.{request.index}",
        "request_latency": request.e2e_s,
        "prompt_tokens": request.prompt_tokens,
        "output_tokens": tokens,
        "time_to_first_token_ms": None if first is None else 1000 * first,
        "time_per_output_token_ms": 1000 * last / tokens if last is not None and tokens else None,
        "inter_token_latency_ms": 1000 * (last - first) / (tokens - 1) if last and first and tokens > 1 else None,
        "tokens_per_second": total / request.e2e_s if request.e2e_s else None,
        "output_tokens_per_second": tokens / request.e2e_s if request.e2e_s else None,
        "output_tokens_per_iteration": tokens / len(chunks) if chunks else None,
        "iter_tokens_per_iteration": (tokens - 1) / (len(chunks) - 1) if len(chunks) > 1 and tokens > 1 else None,
    }


def summary(requests: Sequence[dict[str, Any]], name: str) -> dict[str, Any] | None:
    """Return mean, median, spread and percentiles of one metric; None where no request has it."""
    weigh = _WEIGHTS.get(name, _equally)
    pairs = sorted((each[name], weigh(each)) for each in requests if each[name] is not None and weigh(each) > 0)
    if not pairs:
        return None
    total = math.fsum(weight for _, weight in pairs)
    mean = math.fsum(value * weight for value, weight in pairs) / total
    variance = math.fsum(weight * (value - mean) ** 2 for value, weight in pairs) / total
    return {
        "mean": mean,
        "median": _quantile(pairs, 50),
        "std_dev": math.sqrt(variance),
        "min": pairs[0][0],
        "max": pairs[-1][0],
        "count": len(pairs),
        "percentiles": {key: _quantile(pairs, percent) for key, percent in PERCENTILES.items()},
    }


def _equally(_: dict[str, Any]) -> float:
    return 1.0


def _quantile(pairs: Sequence[tuple[float, float]], percent: float) -> float:
    """Return the first value up to which this share of the weight lies: guidellm's, no line between two values."""
    wanted = math.fsum(weight for _, weight in pairs) * percent / 100
    reached = 0.0
    for value, weight in pairs:
        reached += weight
        if reached >= wanted * (1 - 1e-12):
            return value
    return pairs[-1][0]
