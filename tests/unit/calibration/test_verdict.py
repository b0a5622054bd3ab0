"""The verdict can fail, and at the right stage."""

from __future__ import annotations

import pytest

from console.calibration import table
from console.calibration.pair import PairSpec
from console.calibration.verdict import STAGES, Seen, judge
from tests.unit.calibration.known import BLIND, EARLY, POSITIONS, RIGHT, TABLE

SPEC = PairSpec("llama")


def seen(hist, graphs=False):
    return Seen(graphs, 400 / sum(hist), hist)


def verdicts(*launches, spec=SPEC):
    return {stage.id: stage for stage in judge(TABLE, spec, *launches)}


def faults(*launches):
    return {stage.id: stage.got for stage in judge(TABLE, SPEC, *launches) if stage.verdict == "fault"}


def test_a_right_wiring_is_ok_where_the_pair_can_show_it():
    found = verdicts(seen(RIGHT))
    assert tuple(found) == STAGES
    not_shown = {each for each, stage in found.items() if stage.verdict == "not_shown"}
    assert not_shown == {"target_attention", "positions", "graph_replay"}
    assert {stage.verdict for stage in found.values()} == {"ok", "not_shown"}
    assert found["capture_layers"].got == [2, 3, 6]


def looking(*launches):
    return {stage.id: stage for stage in judge(POSITIONS, PairSpec("llama", looks_back=True), *launches)}


def test_attention_is_shown_by_a_pair_that_looks_back():
    found = looking(seen(RIGHT))
    assert found["positions"].verdict == found["target_attention"].verdict == "ok"
    assert {stage.verdict for stage in found.values()} == {"ok", "not_shown"}


def test_attention_of_the_draft_that_is_lost_is_not_taken_for_fewer_steps():
    found = looking(seen((12, 15, 119)))
    assert {each for each, stage in found.items() if stage.verdict == "unknown"} == {"positions", "draft_steps"}
    assert not [stage for stage in found.values() if stage.verdict == "fault"]


def test_attention_of_the_target_that_finds_nothing_is_its_own_fault():
    wrong = {stage.id: stage.got for stage in looking(seen(BLIND)).values() if stage.verdict == "fault"}
    assert wrong == {"target_attention": "nothing is found in all layers"}
    one = POSITIONS.of(None, f"{table.BLIND}-in-layer-3")
    assert one is not None
    wrong = {stage.id: stage.got for stage in looking(seen(one.hist)).values() if stage.verdict == "fault"}
    assert wrong == {"target_attention": "nothing is found in layer 3"}


@pytest.mark.parametrize(
    ("hist", "wrong"),
    [
        (EARLY, {"capture_layers": [1, 2, 5]}),
        ((81, 6, 6, 3, 2, 45), {"capture_layers": [1, 3, 6]}),
        ((170, 6, 5, 3, 4, 29), {"capture_layers": [-1, 3, 6]}),
        ((90, 9, 5, 4, 5, 40), {"order": [1, 0, 2], "fc": [1, 0, 2]}),
        ((66, 50, 26, 16, 8, 9), {"d2t": "not applied"}),
        ((12, 15, 119), {"draft_steps": 2}),
        ((7, 6, 5, 5, 6, 9, 38), {"draft_steps": 6}),
        ((199, 2, 2, 2, 0, 31), {"graph_replay": "the default ids"}),
    ],
)
def test_each_fault_is_found_at_its_stage_and_at_no_other(hist, wrong):
    assert faults(seen(hist)) == wrong


def test_under_the_flag_of_eagle_the_total_loss_is_the_flags():
    (found,) = seen((399,)).fitting(TABLE.launched("EAGLE"))
    assert found.other == "algorithm-eagle"
    stages = {stage.id: stage for stage in judge(TABLE.launched("EAGLE"), SPEC, seen((399,)))}
    assert (stages["captures"].verdict, stages["captures"].got) == ("fault", 0)
    assert found not in seen((399,)).fitting(TABLE.launched("EAGLE3"))


def test_total_loss_says_that_it_is_not_told_apart():
    found = verdicts(seen((399,)))
    assert not faults(seen((399,)))
    assert found["capture_layers"].verdict == "unknown"
    assert "not told apart" in found["captures"].why


def test_an_unknown_histogram_is_not_called_right_anywhere():
    found = verdicts(seen((100, 20, 30, 10, 5, 5)))
    assert {stage.verdict for stage in found.values()} == {"unknown", "not_shown"}


def test_more_drafts_than_were_asked_for_are_a_fault_of_the_steps():
    assert faults(seen((50, 20, 10, 5, 5, 5, 2, 1)))["draft_steps"] == 7


def test_a_death_is_a_fault_where_its_cause_belongs():
    found = verdicts(Seen(False, died="TypeError", rule="ids-out-of-range"))
    assert found["capture_layers"].verdict == "fault"
    assert {stage.verdict for each, stage in found.items() if each != "capture_layers"} == {"unknown"}
    found = verdicts(Seen(False, died="mat1 and mat2", rule="captures-mismatch"))
    assert found["captures"].verdict == "fault"
    found = verdicts(Seen(False, died="out of memory", rule="gpu-out-of-memory"))
    assert {stage.verdict for stage in found.values()} == {"unknown"}


def test_graphs_that_give_the_same_are_ok():
    assert verdicts(seen(RIGHT, graphs=True), seen(RIGHT))["graph_replay"].verdict == "ok"


@pytest.mark.parametrize("first_has_graphs", [True, False])
def test_graphs_that_give_another_wiring_are_named(first_has_graphs):
    replayed = seen((199, 2, 2, 2, 0, 31), graphs=True)
    launches = (replayed, seen(RIGHT)) if first_has_graphs else (seen(RIGHT), replayed)
    stage = verdicts(*launches)["graph_replay"]
    assert stage.verdict == "fault"
    assert "CUDA graphs replay a verify with the default ids" in stage.why
    assert stage.got == {"graphs": [199, 2, 2, 2, 0, 31], "eager": list(RIGHT)}
