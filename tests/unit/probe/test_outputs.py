"""Greedy outputs token by token, and what two runs accept."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.probe.outputs import compare_outputs
from console.probe.same_acceptance import check_acceptance
from console.probe.trace import read_spool
from console.probe.workload import Workload
from tests.unit.probe.runs import ARGV, PAIR_HISTOGRAM, SPECULATIVE, line, pair_request, stored, trace

LOAD = Workload("chat", ("Hello.",), flush_cache=True).identity()


def made(*outputs, block=0, **changes):
    requests = [pair_request(block=block, index=i, output_ids=tuple(ids), **changes) for i, ids in enumerate(outputs)]
    return trace(pair_request(block=-1, warmup=True, output_ids=(9, 9)), *requests)


def compared(a, b, load_a=LOAD, load_b=LOAD):
    return compare_outputs(a, b, load_a, load_b)


def test_the_same_tokens_are_the_same():
    found = compared(made((1, 2, 3), (4, 5)), made((1, 2, 3), (4, 5)))
    assert (found.verdict, found.unit, found.requests, found.same) == ("same", "tokens", 2, 2)
    assert (found.alike, found.total, found.divergences) == (5, 5, ())


def test_the_first_divergence_of_each_request_is_told_the_earliest_first():
    found = compared(made(range(10), (7, 7, 7)), made([*range(6), 99, 99, 99, 99], (7, 8, 7)))
    assert (found.verdict, found.same, found.alike, found.total) == ("differs", 0, 7, 13)
    first, second = found.divergences
    assert (first.index, first.at, first.a, first.b) == (1, 1, "7 | 7 7", "7 | 8 7")
    assert (second.index, second.at, second.a, second.b) == (0, 6, "2 3 4 5 | 6 7 8 9", "2 3 4 5 | 99 99 99 99")


def test_an_output_that_ends_early_parts_there():
    (found,) = compared(made((1, 2, 3)), made((1, 2))).divergences
    assert (found.at, found.a, found.b) == (2, "1 2 | 3", "1 2 | (ends)")


def test_text_stands_in_for_tokens_where_one_side_has_only_that():
    a = trace(pair_request(output_text="to be or not", output_ids=(1, 2)))
    b = trace(pair_request(output_text="to be and not"))
    found = compared(a, b)
    assert (found.unit, found.divergences[0].at) == ("characters", 6)


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        (LOAD, {**LOAD, "prompt_sha256": "x"}, "prompt_sha256"),
        (LOAD, {**LOAD, "warmup": 7}, "warmup"),
        ({**LOAD, "temperature": 0.7}, {**LOAD, "temperature": 0.7}, "by chance"),
        ({**LOAD, "flush_cache": False}, {**LOAD, "flush_cache": False}, "prefixes"),
    ],
)
def test_other_prompts_are_not_compared(a, b, said):
    found = compared(made((1,)), made((1,)), a, b)
    assert found.verdict == "unknown"
    assert said in found.why


def test_outputs_that_were_not_kept_are_unknown_not_the_same():
    found = compared(trace(pair_request()), made((1,)))
    assert found.verdict == "unknown"
    assert "keep_output" in found.why


def test_an_output_that_was_not_kept_to_its_end_is_compared_as_far_as_it_was():
    cut = made((1, 2), output_cut=True)
    assert compared(made((1, 2, 3)), cut).verdict == "same"
    assert compared(made((1, 9, 3)), cut).divergences[0].at == 1


def test_of_an_adaptive_run_the_blocks_that_both_have_are_compared():
    longer = trace(*made((1, 2)).requests, *made((3,), block=1).requests)
    assert compared(longer, made((1, 2))).requests == 1


@given(st.lists(st.integers(0, 3), max_size=30), st.lists(st.integers(0, 3), max_size=30))
def test_up_to_the_divergence_all_is_alike(a, b):
    found = compared(made(a), made(b))
    if not found.divergences:
        assert a == b
        return
    (parted,) = found.divergences
    assert a[: parted.at] == b[: parted.at]
    assert a[parted.at : parted.at + 1] != b[parted.at : parted.at + 1]


def test_outputs_are_read_from_a_spool():
    fields = {"block": 0, "index": 0, "warmup": False, "completion_tokens": 2, "e2e_s": 0.1, "chunks": [[0.1, 2]]}
    spool = line("request", **fields, output_ids=[3, 4], output_cut=False)
    assert read_spool(spool).requests[0].output_ids == (3, 4)
    for wrong in ("34", [3, -1], [3, True], {"0": 3}):
        assert read_spool(line("request", **fields, output_ids=wrong)).bad_lines == 1


GRAPHS_OFF = {"argv": (*SPECULATIVE, "--disable-cuda-graph"), "env": {"EAGLE3_DEBUG": "1"}}


def run(length=4.65, hist=PAIR_HISTOGRAM, **changes):
    return stored(90.0, 91.0, accept_len=length, accept_hist=hist, **{"argv": SPECULATIVE, **changes})


def test_graphs_off_and_on_that_accept_the_same_agree_whatever_their_speed():
    fast = run()
    slow = stored(9.0, 9.1, accept_len=4.66, accept_hist=PAIR_HISTOGRAM, **GRAPHS_OFF)
    found = check_acceptance(fast, slow, compared(made((1, 2)), made((1, 2))))
    assert (found.verdict, found.histogram_distance) == ("agree", 0.0)
    data = json.loads(json.dumps(found.to_json()))
    assert data["outputs"]["verdict"] == "same"
    assert "disable_cuda_graph" in [each["key"] for each in data["differs"]]
    assert data["a"]["accept_len"] == 4.65


def test_a_graph_that_captured_other_layers_is_found():
    """Capture to 0.5.10.post1 ignored the draft's ids; the histogram moves to nothing accepted."""
    found = check_acceptance(run(), run(1.78, (60, 12, 4, 0, 0, 10), argv=GRAPHS_OFF["argv"]))
    assert found.verdict == "disagree"
    assert found.difference == pytest.approx(1.78 / 4.65 - 1)
    assert found.histogram_distance > 0.4


def test_a_handful_of_verifications_may_differ_by_chance():
    found = check_acceptance(run(3.5, (1, 1, 0, 1, 0, 2)), run(4.2, (1, 0, 0, 1, 0, 3)))
    assert found.verdict == "cant_tell"
    assert "more blocks" in found.why


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"valid": False, "why": "early_end"}, "early_end"),
        ({"argv": (*SPECULATIVE, "--speculative-eagle-topk", "4")}, "speculative_eagle_topk"),
        ({"workload": Workload("chat", ("Bye.",)).identity()}, "prompt_sha256"),
        ({"simulated": True}, "simulated"),
        ({"env": {"SGLANG_SIMULATE_ACC_LEN": "3"}}, "SIMULATE_ACC_LEN"),
    ],
)
def test_what_asks_for_something_else_is_not_judged(change, said):
    found = check_acceptance(run(), run(**change))
    assert found.verdict == "withheld"
    assert said in found.why


def test_without_speculation_the_text_decides():
    plain = stored(90.0, 91.0, argv=ARGV)
    texts = [compared(made((1, 2)), made(ids)) for ids in ((1, 2), (1, 3))]
    assert [check_acceptance(plain, plain, each).verdict for each in (*texts, None)] == [
        "agree",
        "disagree",
        "cant_tell",
    ]
