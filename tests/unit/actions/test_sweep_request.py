"""What is launched for each point of a sweep, and how a stored one is taken up again."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from console.actions import pace, sweep
from console.actions.sweep import SweepRequest
from console.errors import Refused, UsageError
from console.launch.library import Library
from console.launch.loader import Inputs, resolve
from console.probe.sweep import RunSummary, StoredSweep, SweepPoint
from console.probe.sweep_outcome import SweepOutcome, judged
from console.store import Journal
from tests.unit.probe.runs import stored

PROFILES = Library((Path(__file__).parents[3] / "profiles",))
VARIABLES = {"python": "/py", "models": "/m", "drafts": "/d", "logs": "/l", "home": "/h"}
KEEP = ("SPT_NOENV=1",)


@pytest.fixture
def node(tmp_path, monkeypatch):
    """A node that resolves the shipped profiles, and has no wiring to examine."""

    async def profile(name: str, sets: Any = (), env: Any = ()) -> Any:
        return resolve(name, PROFILES, Inputs(VARIABLES, {}, sets, env))

    async def nothing_wrong(*_: Any) -> str:
        return ""

    monkeypatch.setattr(sweep, "_wrong", nothing_wrong)
    monkeypatch.setattr(sweep, "_launch", nothing_wrong)
    with Journal(tmp_path / "runs.sqlite3") as journal:
        yield SimpleNamespace(name="n", profile=profile, journal=journal)


def plan(node: Any, **asked: Any) -> sweep.PlannedSweep:
    return asyncio.run(sweep.plan(node, SweepRequest("kimi-k2.5-eagle3", **asked)))


def test_a_point_gets_what_is_fixed_and_what_is_swept_the_baseline_where_it_runs(node):
    planned = plan(node, steps="2,5", env=("NCCL_PROTO=LL",), sets=("port=8001", "page_size=64"))
    first, two, five, again = planned.plan.points
    profile, sets, env = planned.launch_words(two)
    assert (profile, env) == ("kimi-k2.5-eagle3", KEEP)
    made = asyncio.run(node.profile(profile, sets, env)).profile
    assert (made.speculative.num_steps, made.speculative.num_draft_tokens, made.page_size) == (2, 3, 64)
    assert made.env["NCCL_PROTO"] == "LL"
    assert planned.launch_words(first) == planned.launch_words(again) == ("kimi-k2.5-baseline", ("port=8001",), KEEP)
    assert planned.varies == (
        *("speculative", "speculative.num_steps", "port", "page_size", "env.NCCL_PROTO"),
        "speculative.num_draft_tokens",
    )
    assert five.set["speculative.num_draft_tokens"] == 6


def test_steps_that_are_fixed_have_their_draft_tokens_too(node):
    planned = plan(node, steps="2", env=("NCCL_PROTO=LL,Simple",))
    assert planned.fixed == {"speculative.num_steps": 2, "speculative.num_draft_tokens": 3}


def test_points_that_cannot_be_are_failed_before_anything_starts(node):
    planned = plan(node, steps="2,5", sets=("speculative.num_draft_tokens=3,6",))
    assert [point.state for point in planned.plan.points[1:-1]] == ["waiting", "failed", "failed", "waiting"]
    assert "2 steps make 3 draft tokens" in planned.plan.points[2].why
    assert len(planned.plan.waiting) == 4


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"sets": ("sweep=null",)}, "nothing is swept"),
        ({"steps": "1-2", "sets": ("speculative.num_steps=3,4",)}, "stands in two options"),
        ({"steps": "1-2", "sets": ("no_such_key=1",)}, "no_such_key"),
        ({"sets": ("foo=1,2",)}, "--set foo: unknown key 'foo'"),
        ({"sets": ("page_szie=1,64",)}, r"unknown key 'page_szie' \(nearest: page_size\)"),
        ({"sets": ("speculative.num_step=1,2",)}, r"'num_step' in speculative \(nearest: num_steps\)"),
        ({"steps": "1-2", "allow": ("no-such-rule",)}, "no rule is called 'no-such-rule'"),
    ],
)
def test_a_request_that_is_wrong_as_a_whole_is_refused(node, asked, told):
    with pytest.raises(UsageError, match=told):
        plan(node, **asked)


def test_a_sweep_without_a_point_that_can_be_is_refused_with_each_reason(node):
    """Else both baselines would be launched for nothing."""
    with pytest.raises(UsageError, match="none of the 2 points can be launched") as caught:
        plan(node, sets=("speculative.num_steps=2", "speculative.num_draft_tokens=8,9"))
    assert "steps make 3 draft tokens: SGLang takes 8" in caught.value.detail
    assert "steps make 3 draft tokens: SGLang takes 9" in caught.value.detail
    assert [point["state"] for point in caught.value.plan["points"]] == ["failed", "failed"]


def test_the_same_request_again_names_the_unfinished_sweep(node):
    planned = plan(node, steps="1-2")
    node.journal.add_sweep(planned.stored(1.0))
    again = plan(node, steps="1-2", budget_min=3.0)
    assert any(f"--resume {planned.plan.sweep_id}" in note for note in again.plan.notes)
    assert plan(node, steps="1-3").plan.notes == ()
    node.journal.set_sweep(planned.plan.sweep_id, "done")
    assert plan(node, steps="1-2").plan.notes == ()


def test_resumed_it_is_the_same_sweep_with_what_is_left(node):
    planned = plan(node, steps="1-4", env=("NCCL_PROTO=LL",))
    node.journal.add_sweep(planned.stored(1.0))
    sweep_id, points = planned.plan.sweep_id, planned.plan.points
    died = dataclasses.replace(points[1], state="failed", why="died", died=True, elapsed_s=3.0)
    changes = (
        dataclasses.replace(points[0], state="done", run=RunSummary("r1")),
        died,
        dataclasses.replace(points[2], state="failed", why="cannot be"),
        dataclasses.replace(points[3], state="left_out", why="budget"),
        dataclasses.replace(points[4], state="running"),
    )
    for point in changes:
        node.journal.put_point(sweep_id, point)
    found = asyncio.run(sweep.resume(node, "@1", 30.0))
    assert found.plan.sweep_id == sweep_id
    assert found.plan.resumed
    assert found.plan.budget_s == 1800.0
    states = ["done", "waiting", "failed", "waiting", "running", "waiting"]
    assert [point.state for point in found.plan.points] == states
    assert [found.launch_words(point) for point in points] == [planned.launch_words(point) for point in points]


def test_a_changed_profile_is_another_sweep(node):
    kept = plan(node, steps="1-2").stored(1.0)
    node.journal.add_sweep(dataclasses.replace(kept, request={**kept.request, "profile_sha256": "0" * 64}))
    with pytest.raises(Refused, match="has changed since"):
        asyncio.run(sweep.resume(node, "@1"))


def test_the_time_is_known_from_what_was_measured_here(node):
    planned = plan(node, steps="1-2", cycle=True)
    assert planned.plan.total_s is None
    for at, seconds in enumerate((100.0, 120.0, 140.0)):
        told = {"ok": True, "server": {"ready_s": seconds}}
        node.journal.add_action(float(at), "n", "launch", {"profile": "kimi-k2.5-eagle3"}, told)
    node.journal.add_action(9.0, "n", "launch", {"profile": "another"}, {"server": {"ready_s": 9000.0}})
    node.journal.add_run(stored(60.0, output_tok_s=64.0, node="n", profile="kimi-k2.5-eagle3"))
    found = asyncio.run(pace.estimate(node, planned.resolved, "kimi-k2.5-baseline", cycle=True))
    assert found.launch_s == 120.0
    assert found.probe_s == (5 * 2 + 1) * 128 / 64.0
    assert found.cycle_s == pytest.approx(120.0 + found.probe_s / 5)


def test_the_best_point_as_a_profile(node):
    planned = plan(node, steps="2,5", env=("NCCL_PROTO=LL", "NCCL_ALGO=,Tree"))
    run = stored(94.0, 94.2, output_tok_s=94.1, simulated=True)
    best = SweepPoint(2, "point", *_split(planned.plan.points[1]), "done", run=RunSummary.of(run))
    outcome = judged(SweepOutcome("s1", "p", (SweepPoint(1, "baseline_start"), best)), {"run-1": run}, ())
    data = yaml.safe_load(sweep.best_profile(planned, outcome))
    assert data["extends"] == "kimi-k2.5-eagle3"
    assert data["speculative"] == {"num_steps": 2, "num_draft_tokens": 3}
    assert data["env"] == {"NCCL_PROTO": "LL", "NCCL_ALGO": None}
    assert data["baseline"]["profile"] == "kimi-k2.5-baseline"
    assert {"speculative", "env.NCCL_PROTO", "env.NCCL_ALGO"} <= set(data["baseline"]["varies"])
    assert "SIMULATED, 94.1 tok/s" in data["description"]
    with pytest.raises(UsageError, match="no point was measured"):
        sweep.best_profile(planned, SweepOutcome("s1", "p", ()))


def _split(point: SweepPoint) -> tuple[Any, Any]:
    return point.set, point.env


def test_a_request_comes_back_from_the_journal(node):
    asked = SweepRequest("p", "1-2", ("a=1",), ("B=2,3",), ("c",), ("rule",), cycle=True, budget_min=2.5)
    kept = StoredSweep("s1", 1.0, "n", "p", dataclasses.asdict(asked), "planned", ())
    node.journal.add_sweep(kept)
    assert SweepRequest.from_json(node.journal.get_sweep("s1").request) == asked
