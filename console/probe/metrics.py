"""Owns the numbers of a probe run: throughput, latencies, cycle time and acceptance, from its traces.

| name | meaning |
|---|---|
| output_tok_s | tokens of all blocks / wall time of all blocks: prefill, waiting and all streams together |
| blocks | the same for each block: the unit of the statistics |
| steady_tok_s | while all streams run, at concurrency > 1: tokens / time of the steady windows (see `steady`) |
| decode_tok_s | one stream from its first to its last chunk, without prefill |
| ttft_ms | sent to first token |
| tpot_ms | (last chunk - first chunk) / tokens after the first chunk, of each request |
| chunk_gap_ms | between two chunks of a stream. Not ITL: a chunk is not a token |
| e2e_ms | sent to the end of the stream |
| cycle_ms | one stream's decode time / its verifications; without speculation, per token: the step |
| accept_len | see `acceptance` |
| server | what the server says itself of the same blocks (see `server_side`) |

A request whose events do not count (an OpenAI stream with one `usage` at its end) has no chunks. What takes them to
know is None: decode_tok_s, chunk_gap_ms, cycle_ms, steady_tok_s. Its tpot_ms is (end - first event) / (tokens - 1), as
load generators have it, which takes the first event for one token; a note says so.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from console.probe import steady
from console.probe.acceptance import ACCEPT_LEN_FORMULA, accept_len, histogram, verifications, verify_ct
from console.probe.distribution import Distribution, distribution
from console.probe.json_form import known_fields
from console.probe.outputs import broke_midway
from console.probe.server_side import ServerFigures

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from console.probe.trace import BlockTrace, ProbeTrace, RequestTrace

CLIENT_BOUND_SHARE = 0.05
"""CPU share of one core that the probe may use before its numbers are called client-bound."""

CACHED_SHARE = 0.5
"""A prompt cached to this share makes the time to first token another quantity."""


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What one run measured; None is "not known", never zero."""

    valid: bool
    why: str
    """Why the run is not valid; empty for a valid one."""
    requests: int
    """Measured requests: without the warm-up and without failed ones."""
    completion_tokens: int
    output_tok_s: float | None = None
    decode_tok_s: float | None = None
    ttft_ms: Distribution | None = None
    tpot_ms: Distribution | None = None
    chunk_gap_ms: Distribution | None = None
    e2e_ms: Distribution | None = None
    cycle_ms: float | None = None
    verifications: int | None = None
    accept_len: float | None = None
    accept_len_formula: str = ""
    accept_hist: tuple[int, ...] | None = None
    accept_hist_source: str = ""
    blocks: tuple[float, ...] = ()
    """output_tok_s of each complete block."""
    concurrency: int | None = None
    """Most requests that were in flight at once."""
    steady_tok_s: float | None = None
    steady_blocks: tuple[float, ...] = ()
    """steady_tok_s of each block; empty unless each has one."""
    cached_tokens_max: int | None = None
    """Most prompt tokens that one request found in the prefix cache."""
    flush_statuses: tuple[int, ...] = ()
    client_cpu_share: float | None = None
    """CPU seconds of the probe per second of wall time."""
    notes: tuple[str, ...] = ()
    server: ServerFigures | None = None

    @property
    def step_ms(self) -> float | None:
        """Milliseconds for each token of one stream: the cycle divided by what it yields."""
        if self.cycle_ms is None:
            return None
        return self.cycle_ms / (self.accept_len or 1.0)

    def to_json(self) -> dict[str, Any]:
        """Return plain data; the keys are the CLI's."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ProbeResult:
        """Rebuild from `to_json`; keys of another version are ignored. Raises TypeError or ValueError."""
        return cls(**known_fields(cls, data, _CONVERT))


def measure(trace: ProbeTrace) -> ProbeResult:
    """Work out the numbers of a run, complete or not."""
    measured = [r for r in trace.requests if not r.warmup and not r.error]
    valid, why = _judge(trace)
    counts = histogram(measured)
    length = accept_len(measured)
    share = _client_cpu_share(trace.blocks)
    windows = steady.of_blocks(trace.blocks, measured)
    return ProbeResult(
        valid=valid,
        why=why,
        requests=len(measured),
        completion_tokens=sum(r.completion_tokens for r in measured),
        output_tok_s=_output_tok_s(trace.blocks),
        decode_tok_s=_decode_tok_s(measured),
        ttft_ms=distribution([1000 * first for r in measured if (first := _first_s(r)) is not None]),
        tpot_ms=distribution([1000 * tpot for r in measured if (tpot := _tpot_s(r)) is not None]),
        chunk_gap_ms=distribution([1000 * gap for r in measured for gap in _gaps(r)]),
        e2e_ms=distribution([1000 * r.e2e_s for r in measured]),
        cycle_ms=_cycle_ms(measured),
        verifications=verifications(measured),
        accept_len=length,
        accept_len_formula="" if length is None else ACCEPT_LEN_FORMULA,
        accept_hist=counts.counts,
        accept_hist_source=counts.source,
        blocks=tuple(b.completion_tokens / b.wall_s for b in trace.blocks if b.wall_s > 0 and b.completion_tokens),
        concurrency=max(filter(None, (steady.concurrency(_of(measured, b)) for b in trace.blocks)), default=None),
        steady_tok_s=_ratio(math.fsum(w.tokens for w in windows), math.fsum(w.seconds for w in windows)),
        steady_blocks=tuple(window.tok_s for window in windows),
        cached_tokens_max=max((r.cached_tokens for r in measured if r.cached_tokens is not None), default=None),
        flush_statuses=tuple(flush.status for flush in trace.flushes),
        client_cpu_share=share,
        notes=_notes(trace, measured, share),
    )


def break_even_accept_len(cycle_ms: float, baseline_step_ms: float) -> float:
    """Return the accept length from which a cycle of `cycle_ms` beats a baseline of `baseline_step_ms` a token."""
    return cycle_ms / baseline_step_ms


def _judge(trace: ProbeTrace) -> tuple[bool, str]:
    if trace.done is None:
        return False, "the probe did not finish"
    if not trace.done.valid:
        return False, trace.done.why or "the probe gave no reason"
    if trace.bad_lines:
        return False, f"{trace.bad_lines} lines of the spool were not understood"
    failed = next((r for r in trace.requests if r.error), None)
    if failed is not None:
        return False, failed.error
    if not trace.blocks or any(b.wall_s <= 0 or not b.completion_tokens for b in trace.blocks):
        return False, "no complete block was measured"
    told = sum(b.completion_tokens for b in trace.blocks)
    seen = sum(r.completion_tokens for r in trace.requests if not r.warmup)
    if told != seen:
        return False, f"the blocks report {told} tokens, their requests {seen}"
    broken = broke_midway(trace.requests)
    return not broken, broken


def _output_tok_s(blocks: Sequence[BlockTrace]) -> float | None:
    return _ratio(sum(b.completion_tokens for b in blocks), math.fsum(b.wall_s for b in blocks))


def _client_cpu_share(blocks: Sequence[BlockTrace]) -> float | None:
    return _ratio(math.fsum(b.client_cpu_s for b in blocks), math.fsum(b.wall_s for b in blocks))


def _cycle_ms(requests: Sequence[RequestTrace]) -> float | None:
    if not all(request.chunks for request in requests):
        return None
    cycles = verifications(requests) or sum(map(_decoded, requests))
    seconds = _ratio(math.fsum(map(_decode_s, requests)), cycles)
    return None if seconds is None else 1000 * seconds


def _decode_tok_s(requests: Sequence[RequestTrace]) -> float | None:
    if not all(request.chunks for request in requests):
        return None
    return _ratio(sum(map(_decoded, requests)), math.fsum(map(_decode_s, requests)))


def _of(requests: Sequence[RequestTrace], block: BlockTrace) -> list[RequestTrace]:
    return [request for request in requests if request.block == block.block]


def _first_s(request: RequestTrace) -> float | None:
    return request.chunks[0][0] if request.chunks else request.first_token_s


def _tpot_s(request: RequestTrace) -> float | None:
    if request.chunks:
        return _decode_s(request) / _decoded(request) if _decoded(request) else None
    if request.first_token_s is None or request.completion_tokens < 2:
        return None
    return (request.e2e_s - request.first_token_s) / (request.completion_tokens - 1)


def _decoded(request: RequestTrace) -> int:
    return request.chunks[-1][1] - request.chunks[0][1] if request.chunks else 0


def _decode_s(request: RequestTrace) -> float:
    return request.chunks[-1][0] - request.chunks[0][0] if request.chunks else 0.0


def _gaps(request: RequestTrace) -> list[float]:
    return [after - before for (before, _), (after, _) in pairwise(request.chunks)]


def _ratio(above: float, below: float) -> float | None:
    return above / below if above > 0 and below > 0 else None


def _notes(trace: ProbeTrace, measured: Sequence[RequestTrace], share: float | None) -> tuple[str, ...]:
    notes: list[str] = []
    refused = [flush.status for flush in trace.flushes if flush.status != 200]
    if refused:
        notes.append(f"{len(refused)} of {len(trace.flushes)} cache flushes were not done (HTTP {refused[0]})")
    cached = [r for r in measured if r.cached_tokens and r.cached_tokens > CACHED_SHARE * (r.prompt_tokens or 0)]
    if cached:
        notes.append(f"{len(cached)} of {len(measured)} prompts were mostly cached: their TTFT leaves prefill out")
    speculative = [r for r in measured if verify_ct(r)]
    if speculative and len(speculative) < len(measured):
        notes.append(f"{len(speculative)} of {len(measured)} requests report verifications: acceptance left out")
    uncounted = [r for r in measured if not r.chunks]
    if uncounted:
        notes.append(
            f"the events of {len(uncounted)} of {len(measured)} requests do not count tokens: no chunk gap, cycle or "
            "decode rate, and TPOT takes the first event for one token"
        )
    if share is not None and share > CLIENT_BOUND_SHARE:
        notes.append(f"client-bound: the probe itself used {share:.0%} of a core")
    return tuple(notes)


def _server(data: Mapping[str, Any] | None) -> ServerFigures | None:
    return None if data is None else ServerFigures.from_json(data)


def _distribution(data: Mapping[str, Any] | None) -> Distribution | None:
    return None if data is None else Distribution(**known_fields(Distribution, data))


_CONVERT: dict[str, Callable[[Any], Any]] = {
    "ttft_ms": _distribution,
    "tpot_ms": _distribution,
    "chunk_gap_ms": _distribution,
    "e2e_ms": _distribution,
    "accept_hist": lambda value: None if value is None else tuple(value),
    "blocks": tuple,
    "steady_blocks": tuple,
    "server": _server,
    "flush_statuses": tuple,
    "notes": tuple,
}
