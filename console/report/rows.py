"""Owns a run as rows: CSV, one request a row, and JSON lines, the raw traces as the node wrote them."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

from console.report.bench_serving import tpot_s, ttft_s
from console.report.escape import csv_cell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.probe.stored import StoredRun
    from console.probe.trace import ProbeTrace, RequestTrace

COLUMNS = (
    *("run", "simulated", "block", "request", "warmup", "sent_at", "ttft_ms", "tpot_ms", "e2e_ms", "chunks"),
    *("prompt_tokens", "cached_tokens", "completion_tokens", "spec_verify_ct", "accept_len", "finish_reason", "error"),
)


def requests_csv(run: StoredRun, trace: ProbeTrace) -> str:
    """Return a row for each request, the warm-up's too; blocks and requests count from 1, the warm-up is block 0."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for request in trace.requests:
        writer.writerow([csv_cell(value) for value in _row(run, request)])
    return out.getvalue()


def raw_jsonl(run: StoredRun, spool: bytes) -> str:
    """Return the run's provenance and result as a first line (event `run`), then the spool's events."""
    head = json.dumps({"event": "run", **run.to_json()}, allow_nan=False)
    return "\n".join([head, *_events(spool)]) + "\n"


def _row(run: StoredRun, request: RequestTrace) -> list[Any]:
    verifications = request.meta_info.get("spec_verify_ct")
    known = verifications if type(verifications) is int and verifications > 0 else None
    return [
        run.run_id,
        "SIMULATED" if run.fingerprint.simulated else "",
        request.block + 1,
        request.index + 1,
        request.warmup,
        request.sent_at,
        _ms(ttft_s(request)),
        _ms(tpot_s(request)),
        _ms(request.e2e_s),
        len(request.chunks),
        request.prompt_tokens,
        request.cached_tokens,
        request.completion_tokens,
        known,
        request.completion_tokens / known if known else None,
        request.finish_reason,
        request.error,
    ]


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(1000 * seconds, 3)


def _events(spool: bytes) -> Iterator[str]:
    """Whole events only, written anew: ASCII, so that no reader meets a control character."""
    for line in spool.split(b"\n"):
        try:
            event = json.loads(line, parse_constant=lambda _: None)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict):
            yield json.dumps(event)
