"""Sweeps, walked or stored, as the plain views that the state keeps."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from console.probe.sweep_outcome import SweepOutcome, judged
from console.state.sweep_state import BestView, SweepPointView, SweepView
from console.units import NONE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from console.probe.stored import StoredRun
    from console.probe.sweep import StoredSweep, SweepPoint
    from console.probe.sweep_outcome import Against, Best


def sweep_view(outcome: SweepOutcome, at: float, state: str) -> SweepView:
    """A sweep as it stands; `at` is when it was planned."""
    drift = outcome.drift
    return SweepView(
        sweep_id=outcome.sweep_id,
        at=at,
        profile=outcome.profile,
        state=state,
        points=tuple(map(_point, outcome.points)),
        best=_best(outcome.best) if outcome.best else None,
        drift=_drift(drift) if drift else "",
        drifted=drift is not None and drift.verdict != "cant_tell",
        why=outcome.stopped,
    )


def stored_view(stored: StoredSweep, run_of: Callable[[str], StoredRun | None], declared: Sequence[str]) -> SweepView:
    """A sweep of the journal, judged anew; `declared` is what its profile says to differ from the baseline.

    `run_of` gives a stored run by its id; a point whose run is gone is shown, and not judged. What the journal calls
    running was begun by a console that may have been killed since: it is told so.
    """
    outcome = SweepOutcome(stored.sweep_id, stored.profile, stored.points)
    ids = [point.run.run_id for point in stored.points if point.run]
    runs = {run_id: run for run_id in ids if (run := run_of(run_id))}
    return sweep_view(judged(outcome, runs, (*declared, *_swept(stored.points))), stored.at, _told(stored.state))


def with_progress(view: SweepView, elapsed_s: float, left_s: float | None, said: str) -> SweepView:
    """The same with what only its walk knows."""
    return replace(view, elapsed_s=elapsed_s, left_s=left_s, waits_for=said)


def _told(state: str) -> str:
    return "begun, not ended" if state == "running" else state


def _swept(points: Sequence[SweepPoint]) -> tuple[str, ...]:
    keys = [key for point in points for key in (*point.set, *(f"env.{name}" for name in point.env))]
    return tuple(dict.fromkeys(keys))


def _point(point: SweepPoint) -> SweepPointView:
    run = point.run
    return SweepPointView(
        number=point.number,
        kind=point.kind,
        label=point.label,
        state=point.state,
        set=point.named,
        env=tuple((name, NONE if value is None else value) for name, value in point.env.items()),
        why=point.why,
        tok_s=run.output_tok_s if run else None,
        interval=point.interval,
        accept_len=run.accept_len if run else None,
        verify_ms=point.verify_ms,
        verify_why=point.verify_why,
        elapsed_s=point.elapsed_s,
        simulated=bool(run and run.simulated),
        run_id=run.run_id if run else "",
    )


def _best(best: Best) -> BestView:
    beside, point = best.against_baseline, best.point
    return BestView(
        number=point.number,
        label=point.label,
        tok_s=point.run.output_tok_s if point.run else None,
        interval=point.interval,
        verdict=beside.verdict if beside else "",
        why=beside.why if beside else "",
        against=beside.text() if beside else "",
        second=f"{best.second.number} {best.second.label}" if best.second else "",
        cant_tell_from=best.cant_tell_from,
    )


def _drift(drift: Against) -> str:
    moved = "no drift seen" if drift.verdict == "cant_tell" else "THE NODE DRIFTED"
    return f"baseline again against first: {moved}, {drift.text()}"
