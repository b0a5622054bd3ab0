"""A sweep on the embedded node: the best point is found, and nothing is measured twice, whatever kills the console."""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.cli import Console, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.timeout(300)

BASELINE = """
extends: kimi-k2.5-baseline
tp_size: 2
gpus: [0, 1]
log_path: ${logs}/small_baseline.log
probe: {blocks: 2, requests_per_block: 1, max_new_tokens: 48, warmup: 0}
"""
PROFILE = """
extends: kimi-k2.5-eagle3
tp_size: 2
gpus: [0, 1]
log_path: ${logs}/small.log
baseline: {profile: small-baseline, varies: [speculative]}
probe: {blocks: 2, requests_per_block: 1, max_new_tokens: 48, warmup: 0}
sweep: {speculative.num_steps: [5, 2], env.NCCL_PROTO: null}
"""
AXES = ("--steps", "5,2", "--env", "NCCL_PROTO=LL")


@pytest.fixture
def console(tmp_path) -> Iterator[Console]:
    made = Console(tmp_path / "home", free_port())
    profiles = made.home / "config" / "profiles"
    profiles.mkdir(parents=True)
    (profiles / "small.yaml").write_text(PROFILE)
    (profiles / "small-baseline.yaml").write_text(BASELINE)
    yield made
    made.leave()


def sweep(console: Console, *words: str) -> tuple[int, dict[str, Any], str]:
    return console.run("sweep", "demo", *words, "--yes")


def port_of(console: Console) -> tuple[str, ...]:
    return ("--set", f"port={console.port}")


def stored_runs(console: Console) -> list[tuple[str, str, str]]:
    """(id, kind, launch id) of every run in the journal, oldest first."""
    with sqlite3.connect(console.home / "data" / "runs.sqlite3") as journal:
        return journal.execute("SELECT id, kind, launch_id FROM runs ORDER BY seq").fetchall()


def servers(console: Console) -> list[dict[str, Any]]:
    return console.run("status", "demo")[1]["servers"]


def killed_at(console: Console, line: str, *words: str) -> str:
    """Run the sweep until it tells `line`, and kill it there; returns what it told."""
    process = console.start("sweep", "demo", *words, "--yes")
    told = ""
    assert process.stderr
    for each in process.stderr:
        told += each
        if line in each:
            process.kill()
            break
    process.communicate(timeout=30)
    assert process.returncode == -9, told
    return told


@pytest.mark.slow
def test_killed_and_resumed_it_finds_the_best_point_and_measures_nothing_twice(console):
    console.env["SPEC_CONSOLE_DEMO_LOAD_S"] = "0.6"
    told = killed_at(console, "started server", "small", *AXES, *port_of(console))
    assert "[1/4]" in told
    assert "[2/4]" not in told
    (first,) = servers(console)

    told = killed_at(console, "block 1", "--resume", "@1")
    assert f"server {first['run_id']} of this point still runs: it is adopted" in told
    assert "started server" not in told
    probe = told.split("probe ")[1].split()[0]

    saved = console.home / "config" / "profiles" / "best.yaml"
    code, done, narration = sweep(console, "--resume", "@1", "--save-profile", str(saved))
    assert code == 0, narration
    assert done["schema"] == "spec-console/sweep/1"
    assert f"collecting probe {probe}" in narration
    assert done["baseline"]["start"]["run"]["id"] == probe
    assert done["baseline"]["start"]["launch_id"] == first["run_id"]
    launched, runs = servers(console), stored_runs(console)
    assert len(launched) == 4, "each point was launched once"
    assert [(kind, launch) for _, kind, launch in runs] == [("sweep", each["run_id"]) for each in launched]
    assert {run["state"] for run in launched} == {"exited"}, "the node is left free"
    the_best_is_the_storys(done)
    it_is_a_profile(console, saved)

    code, again, narration = sweep(console, "--resume", "@1")
    assert (code, again["points"], stored_runs(console)) == (0, done["points"], runs)
    assert "started server" not in narration
    code, refused, _ = sweep(console, "small", *AXES, "--save-profile", str(saved))
    assert (code, "there already" in refused["error"]["message"]) == (5, True)


def the_best_is_the_storys(told: dict[str, Any]) -> None:
    five, two = told["points"]
    assert five["set"] == {"speculative.num_steps": 5, "speculative.num_draft_tokens": 6}
    assert two["set"] == {"speculative.num_steps": 2, "speculative.num_draft_tokens": 3}
    assert "launcher and 2 ranks" in two["verified"]
    assert two["verify_ms"] is None
    assert two["verify_why"]
    best, baseline = told["best"], told["baseline"]
    assert best["number"] == two["number"], "two steps with NCCL tuned"
    assert best["run"]["output_tok_s"] > baseline["start"]["run"]["output_tok_s"]
    assert best["against_second"]["difference"] > 0.05
    assert best["interval"][0] < best["run"]["output_tok_s"] < best["interval"][1]
    assert baseline["end"]["state"] == "done"
    assert baseline["drift"]["n"] == [2, 2]


def it_is_a_profile(console: Console, saved: Path) -> None:
    profile = yaml.safe_load(saved.read_text())
    assert profile["extends"] == "small"
    assert profile["speculative"] == {"num_steps": 2, "num_draft_tokens": 3}
    assert "SIMULATED" in profile["description"]
    assert "env.NCCL_PROTO" in profile["baseline"]["varies"]
    code, shown, _ = console.run("launch", "demo", "best", "--dry-run")
    assert (code, shown["env"]["NCCL_PROTO"]) == (0, "LL")


FULL = pytest.mark.skipif(not os.environ.get("SPEC_CONSOLE_FULL"), reason="minutes: SPEC_CONSOLE_FULL=1")


@FULL
def test_a_point_that_dies_and_one_that_cannot_be_are_recorded_and_the_rest_goes_on(console):
    draft = console.home / "data" / "demo" / "drafts" / "output_100k_sglang_four_captures" / "4"
    right = draft.parents[1] / "output_100k_sglang" / "4"
    words = ("small", "--set", f"speculative.draft_model_path={draft},{right}", "--set", "speculative.eagle_topk=1,0")
    allow = [word for rule in ("captures-mismatch", "layer-outputs") for word in ("--allow", rule)]
    code, told, narration = sweep(console, *words, *allow, *port_of(console))
    assert code == 0, narration
    died, invalid, done, invalid_too = told["points"]
    assert [point["state"] for point in told["points"]] == ["failed", "failed", "done", "failed"]
    assert "mat1 and mat2 shapes cannot be multiplied" in died["why"]
    assert died["died"]
    assert invalid["launch_id"] == invalid_too["launch_id"] == ""
    assert "eagle_topk" in invalid["why"]
    assert len(servers(console)) == 4, "what cannot be is never launched"
    assert told["best"]["number"] == done["number"]


@pytest.mark.slow
def test_a_dry_run_says_the_size_and_starts_nothing(console):
    code, told, _ = console.run("sweep", "demo", "small", "--dry-run", "--budget-min", "5")
    assert code == 0
    assert told["sweep"]["size"] == 2, "the axes of the profile"
    assert [point["set"]["speculative.num_steps"] for point in told["points"]] == [5, 2]
    assert any("2 points = steps (5, 2)" in line for line in told["plan"])
    assert servers(console) == []
    assert console.run("sweep", "demo", "--resume", "@1", "--dry-run")[0] == 2, "a plan is not a sweep"


@FULL
@pytest.mark.timeout(1200)
def test_the_storys_sweep_ends_at_two_steps_with_ll(console, monkeypatch):
    monkeypatch.setattr("tests.cli.TIMEOUT_S", 1100.0)
    code, told, narration = sweep(
        console, "kimi-k2.5-eagle3", "--steps", "1-5", "--env", "NCCL_PROTO=LL,LL128,Simple", *port_of(console)
    )
    assert code == 0, narration
    assert len(told["points"]) == 15
    best, start = told["best"], told["baseline"]["start"]
    assert (best["set"]["speculative.num_steps"], best["env"]) == (2, {"NCCL_PROTO": "LL"})
    assert best["against_baseline"]["verdict"] == "faster"
    assert best["run"]["output_tok_s"] / start["run"]["output_tok_s"] == pytest.approx(1.05, abs=0.02)
    assert best["cant_tell_from"] == []
