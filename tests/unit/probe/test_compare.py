"""A comparison shows both numbers, lists every difference, and gives a verdict only where one is due."""

from __future__ import annotations

import json

import pytest

from console.errors import UsageError
from console.probe.compare import compare, compare_pools
from console.probe.metrics import ProbeResult
from console.probe.speculation import speculation_of
from console.probe.stored import StoredRun, pooled
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


@pytest.mark.parametrize("switch", ["EAGLE3_CYCLE", "EAGLE3_DIGEST"])
def test_an_instrumented_build_is_no_benchmark_either(switch):
    found = compare(stored(*BASE), stored(*SLOW, env={"NCCL_PROTO": "LL", switch: "1"}), ["env"])
    assert f"candidate: instrumented build: not a benchmark ({switch})" in found.notes


def test_the_steady_windows_are_compared_beside_and_the_verdict_is_of_whole_blocks():
    a = stored(*BASE, steady_blocks=(100.0, 101.0, 99.0))
    b = stored(*SLOW, steady_blocks=(120.0, 121.0, 119.0), argv=SPECULATIVE)
    found = compare(a, b, ["speculative"])
    assert (found.verdict, found.steady.verdict) == ("slower", "faster")
    assert found.to_json()["steady"]["difference"] == pytest.approx(0.2, abs=0.001)
    assert compare(a, stored(*SLOW)).steady is None


def launched(*blocks, launch, **changes):
    return stored(*blocks, run_id=f"run-{launch}", launch_id=launch, **changes)


def test_one_launch_each_is_said():
    found = compare(launched(*BASE, launch="a"), launched(*SLOW, launch="b"))
    assert (found.unit, found.launches) == ("block", (1, 1))
    assert "one launch each" in found.notes[-1]


def test_two_runs_of_one_launch_are_one_launch():
    again = stored(*BASE, run_id="again", launch_id="a")
    found = compare_pools([launched(*BASE, launch="a"), again], [launched(*SLOW, launch="b")])
    assert found.launches == (1, 1)
    assert found.contrast.n == (10, 5)


def test_with_launches_on_both_sides_the_launch_is_what_is_measured():
    a = [launched(90.0, 90.1, 89.9, launch="a1"), launched(80.0, 80.1, 79.9, launch="a2")]
    b = [launched(82.0, 82.1, 81.9, launch="b1"), launched(91.0, 91.1, 90.9, launch="b2")]
    found = compare_pools(a, b)
    assert (found.unit, found.launches, found.contrast.n) == ("launch", (2, 2), (2, 2))
    assert found.verdict == "cant_tell", "the blocks of each launch agree, the launches do not"
    assert "baseline: 2 launches at 90.0, 80.0 tok/s, 12.5 % from the slowest to the fastest" in found.notes


def test_several_launches_against_one_are_compared_by_block_and_that_is_said():
    a = [launched(*BASE, launch="a1"), launched(88.8, 88.9, 88.7, launch="a2")]
    found = compare_pools(a, [launched(*SLOW, launch="b")])
    assert (found.unit, found.launches, found.contrast.n) == ("block", (2, 1), (8, 5))
    assert "one side has one launch" in found.notes[-1]


def test_runs_of_two_configurations_are_not_taken_together():
    with pytest.raises(UsageError, match="disable_cuda_graph"):
        compare_pools([stored(*BASE), stored(*BASE, argv=(*ARGV, "--disable-cuda-graph"))], [stored(*SLOW)])


def test_what_of_several_runs_adds_up_is_added_and_the_rest_is_not_known():
    a = stored(100.0, 100.0, run_id="a", accept_hist=(1, 2), verifications=300, accept_len=3.0, cycle_ms=30.0, at=1.0)
    b = stored(50.0, 50.0, run_id="b", accept_hist=(2, 1), verifications=200, accept_len=5.0, cycle_ms=20.0, at=9.0)
    both = pooled([a, b])
    assert (both.run_id, both.at) == ("a,b", 9.0)
    assert both.result.output_tok_s == pytest.approx(4 / (2 / 100 + 2 / 50)), "all tokens by all time"
    assert both.result.accept_len == 2000 / 500
    assert both.result.accept_hist == (3, 3)
    assert both.result.cycle_ms == pytest.approx((30 * 300 + 20 * 200) / 500)
    assert both.result.ttft_ms is None
    assert pooled([a]) is a


def test_an_invalid_run_in_a_pool_withholds_and_is_named():
    found = compare_pools([stored(*BASE), stored(*BASE, run_id="bad", valid=False, why="cancelled")], [stored(*SLOW)])
    assert found.verdict == "withheld"
    assert "run bad: cancelled" in found.why


def test_accept_len_stands_beside_what_was_speculated():
    tree = (*SPECULATIVE, "--speculative-eagle-topk", "4", "--speculative-num-draft-tokens", "16")
    side = compare(stored(*BASE), stored(*SLOW, argv=tree)).to_json()
    assert side["baseline"]["speculation"] is None
    assert side["candidate"]["speculation"]["form"] == "tree"
    assert speculation_of(tree).text() == "EAGLE3 5/4/16 tree, draft /models/draft"
    assert (
        speculation_of((*SPECULATIVE, "--speculative-eagle-topk=1")).text()
        == "EAGLE3 5/1/auto chain, draft /models/draft"
    )


def test_a_run_stored_before_these_figures_were_taken_is_read():
    data = stored(*BASE).to_json()
    for key in ("steady_tok_s", "steady_blocks", "server", "concurrency"):
        del data["result"][key]
    for key in ("model_sha256", "draft_sha256", "clocks_max_mhz", "clocks_app_mhz"):
        del data["fingerprint"][key]
    old = StoredRun.from_json(data)
    assert isinstance(old.result, ProbeResult)
    assert compare(old, stored(*SLOW, model_sha256="m")).verdict == "slower", (
        "what an old run does not tell is no difference"
    )
