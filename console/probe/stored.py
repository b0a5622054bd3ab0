"""Owns a stored run: a result with the provenance that makes it a baseline. The journal keeps it as JSON."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from console.errors import UsageError
from console.probe.acceptance import sum_histograms
from console.probe.differences import differs
from console.probe.fingerprint import Fingerprint
from console.probe.json_form import known_fields
from console.probe.metrics import ProbeResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


@dataclass(frozen=True, slots=True)
class StoredRun:
    """One probe run as it is kept."""

    run_id: str
    at: float
    """Wall clock of its end, seconds since 1970."""
    node: str
    profile: str
    """Name of the profile; empty for a server that no profile started."""
    profile_hash: str
    fingerprint: Fingerprint
    result: ProbeResult
    kind: str = "probe"
    """probe, or a point of a sweep."""
    launch_id: str = ""
    """The server's run id: blocks of one launch do not see what differs from launch to launch."""

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> StoredRun:
        """Rebuild from `to_json`. Raises TypeError, ValueError, AttributeError or KeyError for what is none."""
        return cls(**known_fields(cls, data, _CONVERT))


def launches(runs: Iterable[StoredRun]) -> dict[str, list[float]]:
    """Return the blocks of each launch; runs whose launch is not known count as one each."""
    found: dict[str, list[float]] = {}
    for run in runs:
        found.setdefault(run.launch_id or run.run_id, []).extend(run.result.blocks)
    return found


def pooled(runs: Sequence[StoredRun]) -> StoredRun:
    """Return several runs of one configuration as one, its id theirs with commas between.

    Percentiles and what else cannot be had from summaries is None.

    Raises:
        UsageError: the runs differ in something that matters; it is named.
    """
    first, *others = runs
    if not others:
        return first
    for other in others:
        found = [each.key for each in differs(first.fingerprint, other.fingerprint) if each.withholds]
        if found:
            raise UsageError(
                f"runs {first.run_id} and {other.run_id} are not of one configuration: {', '.join(found)}",
                "Only runs that differ in nothing are taken together; `compare` them with each other.",
            )
    run_ids = ",".join(run.run_id for run in runs)
    return replace(first, run_id=run_ids, at=max(run.at for run in runs), launch_id="", result=_pooled_result(runs))


def _pooled_result(runs: Sequence[StoredRun]) -> ProbeResult:
    results = [run.result for run in runs]
    blocks = tuple(block for result in results for block in result.blocks)
    bad = next((run for run in runs if not run.result.valid), None)
    counts = [result.verifications or 0 for result in results]
    verifications = sum(counts) if all(counts) else None
    tokens = sum(result.completion_tokens for result in results)
    return ProbeResult(
        valid=bad is None,
        why="" if bad is None else f"run {bad.run_id}: {bad.result.why}",
        requests=sum(result.requests for result in results),
        completion_tokens=tokens,
        # Each block of a workload makes the same tokens, so all tokens by all time is the harmonic mean.
        output_tok_s=len(blocks) / math.fsum(1 / block for block in blocks) if blocks else None,
        blocks=blocks,
        steady_blocks=_together([result.steady_blocks for result in results]),
        concurrency=results[0].concurrency,
        cycle_ms=_cycle_ms(results),
        verifications=verifications,
        accept_len=tokens / verifications if verifications else None,
        accept_len_formula=results[0].accept_len_formula if verifications else "",
        accept_hist=sum_histograms([result.accept_hist for result in results]),
        accept_hist_source=results[0].accept_hist_source,
        notes=tuple(f"run {run.run_id}: {note}" for run in runs for note in run.result.notes),
    )


def _together(parts: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    return tuple(value for part in parts for value in part) if all(parts) else ()


def _cycle_ms(results: Sequence[ProbeResult]) -> float | None:
    """Mean over all cycles: verifications, or tokens where there is no speculation."""
    parts = [(result.cycle_ms, result.verifications or result.completion_tokens) for result in results]
    if any(cycle is None for cycle, _ in parts):
        return None
    return math.fsum((cycle or 0.0) * weight for cycle, weight in parts) / sum(weight for _, weight in parts)


_CONVERT: dict[str, Callable[[Any], Any]] = {
    "fingerprint": Fingerprint.from_json,
    "result": ProbeResult.from_json,
}
