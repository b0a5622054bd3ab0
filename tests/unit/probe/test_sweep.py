"""What a sweep concludes: its best point, how sure that is, whether the node drifted."""

from __future__ import annotations

import dataclasses
import json

import pytest

from console.probe.sweep import RunSummary, SweepPoint
from console.probe.sweep_outcome import SweepOutcome, judged, throughput_interval
from console.probe.sweep_plan import STOP_S, Estimate, SweepPlan
from tests.unit.probe.runs import ARGV, SPECULATIVE, stored

VARIES = ("speculative", "env.NCCL_PROTO")


def outcome(*blocks: tuple[float, ...], end: tuple[float, ...] = (90.0, 90.5, 89.5), **of_first):
    """A sweep with these points between two baselines, and its runs."""
    every = [(90.2, 89.8, 90.0), *blocks, end]
    runs, points = {}, []
    for number, each in enumerate(every, 1):
        kind = "baseline_start" if number == 1 else "baseline_end" if number == len(every) else "point"
        if not each:
            points.append(SweepPoint(number, kind, {"speculative.num_steps": number}, state="failed", why="died"))
            continue
        rate = sum(each) / len(each)
        changes = of_first if number == 2 else {}
        argv = SPECULATIVE if kind == "point" else ARGV
        run = stored(*each, run_id=f"r{number}", argv=argv, output_tok_s=rate, **changes)
        runs[run.run_id] = run
        keys = {"speculative.num_steps": number} if kind == "point" else {}
        points.append(SweepPoint(number, kind, keys, state="done", run=RunSummary.of(run)))
    return judged(SweepOutcome("s1", "p", tuple(points)), runs, VARIES)


def test_the_best_is_the_fastest_and_beats_baseline_and_second():
    found = outcome((80.0, 80.4, 79.8), (94.0, 94.3, 93.8), (85.0, 85.4, 84.9))
    assert found.best is not None
    assert (found.best.point.number, found.best.second.number) == (3, 4)
    assert found.best.against_baseline.verdict == "faster"
    assert found.best.against_baseline.contrast.n == (6, 3), "both launches of the baseline"
    assert found.best.against_second.verdict == "faster"
    assert found.best.cant_tell_from == ()
    assert found.drift.verdict == "cant_tell"
    assert found.ok


def test_what_cannot_be_told_apart_is_named():
    found = outcome((94.0, 99.0, 89.0), (95.0, 90.0, 99.5), (60.0, 60.5, 60.2))
    assert found.best.point.number == 3
    assert found.best.cant_tell_from == (2,)
    assert "can't tell" in found.proof
    assert any("can't tell it from 2" in line for line in found.lines())


def test_a_drift_of_the_baseline_is_told():
    found = outcome((94.0, 94.3, 93.8), end=(98.0, 98.4, 97.8))
    assert found.drift.verdict == "faster"
    assert found.drift.contrast.difference == pytest.approx(0.09, abs=0.01)
    assert any("DRIFTED" in line for line in found.lines())
    assert found.best.against_baseline.verdict == "cant_tell", "the drift is part of the noise"


def test_something_else_that_differs_withholds_the_verdict_and_is_named():
    found = outcome((94.0, 94.3, 93.8), power_limits_w=(400.0,) * 8)
    assert found.best.against_baseline.verdict == "withheld"
    assert "gpu.power_limits_w" in found.best.against_baseline.why


def test_a_point_that_failed_is_no_candidate():
    assert outcome(()).best is None
    assert not outcome(()).ok
    found = outcome((), (70.0, 70.2, 70.1))
    assert found.best.point.number == 3
    assert found.best.second is None


def test_it_can_be_judged_at_any_moment():
    point = SweepPoint(2, "point", {"speculative.num_steps": 2})
    begun = SweepOutcome("s1", "p", (SweepPoint(1, "baseline_start"), point, SweepPoint(3, "baseline_end")))
    found = judged(begun, {}, VARIES)
    assert (found.best, found.drift) == (None, None)
    assert [each.state for each in found.points] == ["waiting"] * 3
    json.dumps(found.to_json(), allow_nan=False)


def test_the_interval_of_a_run():
    low, high = throughput_interval((90.0, 91.0, 89.0))
    assert low < 90.0 < high
    assert high - low == pytest.approx(5.0, abs=0.6)
    assert throughput_interval((90.0,)) is None


def test_a_point_comes_back_from_json():
    run = RunSummary.of(stored(94.0, 94.5, output_tok_s=94.2, accept_len=2.3, cycle_ms=24.5))
    point = SweepPoint(
        *(4, "point", {"speculative.num_steps": 2, "gpus": [0, 1]}, {"NCCL_PROTO": None}, "done"),
        run=run,
        interval=(94.0, 94.6),
        verify_ms=22.5,
        verify_why="eagle3-cycle",
        elapsed_s=61.5,
        notes=("client-bound",),
    )
    assert SweepPoint.from_json(json.loads(json.dumps(point.to_json()))) == point
    failed = SweepPoint(5, "point", {}, {}, "failed", "died", died=True, launch_id="l1")
    assert SweepPoint.from_json(json.loads(json.dumps(failed.to_json()))) == failed


@pytest.mark.parametrize("damage", [{"run": {}}, {"run": 3}, {"interval": [1]}, {"set": 4}, {"notes": 5}])
def test_a_damaged_point_is_an_error(damage):
    data = {**SweepPoint(1, "point").to_json(), **damage}
    with pytest.raises((TypeError, ValueError, KeyError, AttributeError, IndexError)):
        SweepPoint.from_json(data)


def test_a_label_says_what_is_swept():
    keys = {"speculative.num_steps": 2, "speculative.num_draft_tokens": 3, "page_size": 64}
    assert SweepPoint(2, "point", keys, {"NCCL_PROTO": "LL"}).label == "steps 2, page_size 64, NCCL_PROTO=LL"
    odd = SweepPoint(2, "point", {**keys, "speculative.num_draft_tokens": 8}, {"A": None})
    assert odd.label == "steps 2, draft tokens 8, page_size 64, A unset"


def test_a_plan_says_size_and_time():
    points = (
        SweepPoint(1, "baseline_start"),
        SweepPoint(2, "point"),
        SweepPoint(3, "point", state="failed", why="no such flag"),
        SweepPoint(4, "baseline_end"),
    )
    plan = SweepPlan("s1", "n", "p", "b", points, ("steps (1, 2)",), Estimate(100.0, 50.0, 30.0, "from 2 launches"))
    assert plan.size == 2
    assert plan.total_s == 3 * (150.0 + STOP_S) + 30.0
    lines = list(plan.lines())
    assert "2 points = steps (1, 2)" in lines[0]
    assert any("about 8 min" in line or "about 8 min 30 s" in line for line in lines)
    assert any("failed: no such flag" in line for line in lines)
    unknown = dataclasses.replace(plan, estimate=Estimate(None, 50.0))
    assert unknown.total_s is None
    assert any("not known before the first" in line for line in unknown.lines())
