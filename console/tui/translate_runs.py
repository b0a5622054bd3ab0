"""Stored runs and their comparison, as the plain views that the state keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.probe import agreement
from console.probe.baseline import pinned_baseline
from console.probe.compare import compare_pools, marks
from console.probe.speculation import speculation_of
from console.probe.sweep_outcome import throughput_interval
from console.state.runs_state import (
    Beside,
    ComparisonView,
    DifferenceView,
    GoldenView,
    Latency,
    RunView,
    ServerView,
    Stages,
)
from console.units import NONE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from console.logs.cycles import CycleSummary
    from console.probe.compare import Comparison
    from console.probe.distribution import Distribution
    from console.probe.golden import Golden
    from console.probe.metrics import ProbeResult
    from console.probe.stored import StoredRun
    from console.state.model import ProfileView
    from console.store.labels import RunLabels


def run_view(run: StoredRun, labels: RunLabels | None = None) -> RunView:
    result = run.result
    speculation = speculation_of(run.fingerprint.argv)
    return RunView(
        run_id=run.run_id,
        at=run.at,
        node=run.node,
        profile=run.profile,
        launch_id=run.launch_id,
        valid=result.valid,
        why=result.why,
        simulated=run.fingerprint.simulated,
        requests=result.requests,
        completion_tokens=result.completion_tokens,
        concurrency=result.concurrency,
        speculation=speculation.text() if speculation else "",
        output_tok_s=result.output_tok_s,
        interval=throughput_interval(result.blocks),
        steady_tok_s=result.steady_tok_s,
        decode_tok_s=result.decode_tok_s,
        ttft_ms=_latency(result.ttft_ms),
        tpot_ms=_latency(result.tpot_ms),
        chunk_gap_ms=_latency(result.chunk_gap_ms),
        e2e_ms=_latency(result.e2e_ms),
        cycle_ms=result.cycle_ms,
        step_ms=result.step_ms,
        accept_len=result.accept_len,
        accept_len_formula=result.accept_len_formula,
        accept_hist=result.accept_hist or (),
        accept_hist_source=result.accept_hist_source,
        blocks=result.blocks,
        server=_server(result),
        marks=marks(run.fingerprint),
        notes=result.notes,
        tags=labels.tags if labels else (),
        note=labels.note if labels else "",
        pinned=labels is not None and labels.pinned,
    )


def comparison_view(
    baseline: StoredRun, candidate: StoredRun, varies: Sequence[str], golden: Golden | None = None
) -> ComparisonView:
    """Compare two stored runs; `varies` is what the candidate's profile declares."""
    found = compare_pools([baseline], [candidate], varies, golden)
    differs = sorted(found.differs, key=lambda each: (not each.withholds, not each.declared))
    return ComparisonView(
        verdict=found.verdict,
        why=found.why,
        difference=found.contrast.difference,
        interval=found.contrast.interval,
        detectable=found.contrast.detectable,
        differs=tuple(
            DifferenceView(each.key, each.a or NONE, each.b or NONE, each.declared, each.withholds) for each in differs
        ),
        break_even_accept_len=found.cycle.break_even_accept_len,
        formula=found.cycle.formula,
        unit=found.unit,
        n=found.contrast.n,
        launches=found.launches,
        steady_difference=found.steady.difference if found.steady else None,
        steady_interval=found.steady.interval if found.steady else None,
        golden=_golden(found),
        notes=found.notes,
    )


def pair(
    runs: Sequence[StoredRun],
    profiles: Iterable[ProfileView],
    baseline: str | None,
    candidate: str | None,
    pinned: Sequence[str] = (),
) -> tuple[StoredRun | None, StoredRun | None]:
    """Choose the two runs to stand side by side; `runs` are newest first, ids name what the user chose.

    Left to itself: the newest run whose profile declares a baseline, beside a pinned run (the newest pin first), else
    the newest run of that baseline; those that had the same load before all others. Points of a sweep are taken by
    choice only.
    """
    known = {each.run_id: each for each in runs}
    own = [each for each in runs if each.kind == "probe"]
    declared = {each.name: each.baseline for each in profiles if each.baseline}
    b = known.get(candidate or "") or next((run for run in own if run.profile in declared), None)
    a = known.get(baseline or "")
    if a is None and b is not None:
        a = pinned_baseline(b, [known[each] for each in pinned if each in known])
    if a is None and b is not None:
        of_baseline = [run for run in own if run.profile == declared.get(b.profile) and run is not b]
        alike = [run for run in of_baseline if run.fingerprint.workload == b.fingerprint.workload]
        a = next(iter(alike or of_baseline), None)
    if b is None and a is None:
        a = next(iter(own), None)
    return a, b


def _latency(found: Distribution | None) -> Latency | None:
    return Latency(found.mean, found.p50, found.p99) if found else None


def _server(result: ProbeResult) -> ServerView | None:
    figures = result.server
    if figures is None:
        return None
    return ServerView(
        windows=figures.windows,
        tok_s=_beside(agreement.throughput(result, figures)),
        accept_len=_beside(agreement.decode_accept_len(result, figures)),
        graph_share=figures.graph_share,
        stages=_stages(figures.cycle) if figures.cycle else None,
        verify_ms=figures.device.verify_ms if figures.device else None,
    )


def _beside(found: agreement.Beside) -> Beside:
    return Beside(found.client, found.server, found.apart)


def _stages(cycle: CycleSummary) -> Stages:
    source = f"median of {cycle.count} eagle3-cycle records, {cycle.clock or 'unknown'} clock"
    return Stages(cycle.cycle_ms, cycle.draft_ms, cycle.verify_ms, cycle.extend_ms, source)


def _golden(found: Comparison) -> GoldenView | None:
    point = found.golden
    if point is None:
        return None
    return GoldenView(point.name, point.source, point.steps, point.expected, point.difference)
