"""A comparison shows both numbers, lists every difference, and gives a verdict only where one is due."""

from __future__ import annotations

import json

import pytest

from console.probe.compare import compare
from console.probe.workload import Workload
from tests.unit.probe.runs import ARGV, SPECULATIVE, stored

BASE = (90.0, 91.0, 89.0, 90.5, 89.5)
SLOW = (54.8, 55.2, 54.5, 54.9, 55.0)


def test_the_story_s_first_number_is_slower():
    found = compare(stored(*BASE), stored(*SLOW, argv=SPECULATIVE), ["speculative"])
    assert found.verdict == "slower"
    assert found.why == ""
    assert found.contrast.difference == pytest.approx(-0.39, abs=0.01)
    assert found.contrast.interval[1] < 0


def test_the_story_s_last_number_within_noise_cannot_be_told():
    noisy = (94.0, 88.0, 99.0, 91.0, 98.0)
    found = compare(stored(*BASE), stored(*noisy, argv=SPECULATIVE), ["speculative"])
    assert found.verdict == "cant_tell"
    assert "noise" in found.why
    assert 0 < found.contrast.detectable < 0.2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"argv": (*SPECULATIVE, "--disable-cuda-graph")}, "disable_cuda_graph"),
        ({"argv": SPECULATIVE, "env": {"NCCL_PROTO": "LL", "EAGLE3_DEBUG": "1"}}, "env.EAGLE3_DEBUG"),
        ({"argv": SPECULATIVE, "env": {"NCCL_PROTO": "LL", "SGLANG_SIMULATE_ACC_LEN": "3"}}, "SIMULATE_ACC_LEN"),
        ({"argv": SPECULATIVE, "simulated": True}, "simulated"),
        ({"argv": SPECULATIVE, "power_limits_w": (500.0,) * 8}, "power_limits"),
        ({"argv": SPECULATIVE, "workload": Workload("chat", ("Bye.",)).identity()}, "workload.prompt_sha256"),
        ({"argv": SPECULATIVE, "valid": False, "why": "cancelled"}, "cancelled"),
    ],
)
def test_a_verdict_is_withheld_with_the_reason_and_the_numbers_stay(change, said):
    found = compare(stored(*BASE), stored(*SLOW, **change), ["speculative"])
    assert found.verdict == "withheld"
    assert said in found.why
    assert found.contrast.difference == pytest.approx(-0.39, abs=0.01)


def test_other_workloads_are_withheld_though_declared():
    other = stored(*SLOW, workload=Workload("chat", ("Bye.",)).identity())
    assert compare(stored(*BASE), other, ["workload"]).verdict == "withheld"


def test_an_invalid_baseline_withholds_too():
    found = compare(stored(*BASE, valid=False, why="early_end"), stored(*SLOW))
    assert found.verdict == "withheld"
    assert found.why.startswith("the baseline")


def test_one_block_is_not_enough():
    assert compare(stored(90.0), stored(54.8)).verdict == "cant_tell"


def test_the_cycle_arithmetic_of_the_story():
    baseline = stored(*BASE, cycle_ms=11.1)
    candidate = stored(*SLOW, cycle_ms=33.3, accept_len=2.5, argv=SPECULATIVE)
    cycle = compare(baseline, candidate, ["speculative"]).cycle
    assert cycle.tok_s == pytest.approx(2.5 / 0.0333)
    assert cycle.baseline_step_ms == 11.1
    assert cycle.break_even_accept_len == pytest.approx(3)


def test_against_a_speculative_baseline_the_step_is_its_time_per_token():
    baseline = stored(*BASE, cycle_ms=30.0, accept_len=3.0)
    cycle = compare(baseline, stored(*SLOW, cycle_ms=20.0, accept_len=2.0)).cycle
    assert cycle.baseline_step_ms == pytest.approx(10)
    assert cycle.break_even_accept_len == pytest.approx(2)


def test_a_cycle_that_was_not_measured_is_unknown():
    cycle = compare(stored(*BASE), stored(*SLOW)).cycle
    assert (cycle.tok_s, cycle.break_even_accept_len) == (None, None)


def test_what_is_no_benchmark_is_said_even_when_both_are_alike():
    debug = {"argv": (*ARGV, "--disable-cuda-graph"), "env": {"EAGLE3_DEBUG": "1"}}
    found = compare(stored(*BASE, **debug), stored(*SLOW, **debug))
    assert found.verdict == "slower"
    assert sum("not a benchmark" in note for note in found.notes) == 4
    switched_off = compare(stored(*BASE, env={"EAGLE3_DEBUG": "0"}), stored(*SLOW, env={"EAGLE3_DEBUG": "0"}))
    assert not any("not a benchmark" in note for note in switched_off.notes)


def test_its_json_is_the_contract():
    candidate = stored(*SLOW, run_id="run-2", argv=(*SPECULATIVE, "--disable-cuda-graph"), output_tok_s=54.8)
    data = json.loads(json.dumps(compare(stored(*BASE), candidate, ["speculative"]).to_json()))
    assert data["verdict"] == "withheld"
    assert {"key": "disable_cuda_graph", "a": None, "b": "true", "declared": False, "material": True} in data["differs"]
    assert data["candidate"]["id"] == "run-2"
    assert data["candidate"]["output_tok_s"] == 54.8
    assert len(data["interval"]) == 2
    assert data["n"] == [5, 5]
    assert "accept_len" in data["cycle"]["formula"]
