"""The table of wirings: what a real server was seen to give stands in it, and a broken file is said to be one."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.calibration import table
from console.errors import NegativeResult
from tests.unit.calibration.known import EARLY, PATH, POSITIONS, RIGHT, TABLE

SEEN_ON_SERVERS = {
    (2, 3, 6): (4.6512, RIGHT),
    (1, 2, 5): (1.7778, EARLY),
    (1, 3, 4): (1.6598, (205, 2, 2, 2, 0, 30)),
    (1, 3, 6): (2.7972, (81, 6, 6, 3, 2, 45)),
    (2, 4, 6): (4.0404, (25, 8, 6, 6, 5, 49)),
    (-1, 3, 6): (1.8433, (170, 6, 5, 3, 4, 29)),
    (3, 2, 6): (2.6144, (90, 9, 5, 4, 5, 40)),
}


@pytest.mark.parametrize("outputs", SEEN_ON_SERVERS)
def test_what_real_servers_gave_is_predicted(outputs):
    found = TABLE.of(outputs)
    assert found is not None
    assert (found.accept_len, found.hist) == SEEN_ON_SERVERS[outputs]


def test_the_trained_wiring_is_alone_in_its_histogram():
    assert TABLE.fitting(RIGHT) == (TABLE.right,)
    assert TABLE.right.outputs == (2, 3, 6)


def test_attention_of_the_target_that_finds_nothing_is_told_apart_also_by_layer():
    blind = [each for each in POSITIONS.predictions if each.other.startswith(table.BLIND)]
    assert len(blind) == 1 + 7, "all layers up to the last that is captured, and each of them"
    for each in blind:
        assert POSITIONS.fitting(each.hist) == (each,)
    assert POSITIONS.right.hist == RIGHT
    assert POSITIONS.fitting(RIGHT) == (POSITIONS.right,)


def test_every_wiring_is_there_and_most_histograms_name_one():
    wirings = [each for each in TABLE.predictions if each.outputs is not None]
    assert len(wirings) == 9**3
    assert len(Counter(each.hist for each in wirings)) == 405


def test_zeros_at_the_end_do_not_matter():
    assert TABLE.fitting((399, 0, 0, 0, 0, 0)) == TABLE.fitting((399,))
    assert all(each.is_lost for each in TABLE.fitting((399,)))


def test_each_prediction_is_one_request_of_the_tokens_that_were_asked_for():
    for each in TABLE.predictions:
        assert each.accept_len == pytest.approx(TABLE.tokens / sum(each.hist), abs=5e-5)


def test_other_faults_have_histograms_of_their_own():
    others = {each.other: each.hist for each in TABLE.predictions if each.other}
    assert others["d2t-not-applied"] == (66, 50, 26, 16, 8, 9)
    assert others["steps-2"] == (12, 15, 119)
    assert others["algorithm-eagle"] == others["nothing-captured"] == (399,)


def test_without_a_histogram_the_accept_length_names():
    assert TABLE.right in TABLE.fitting_length(400 / 86)
    assert TABLE.fitting_length(3.14159) == ()


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"wirings": 1, "others": []}', b"[" * 100_000, b"\xff"])
def test_a_broken_table_is_said_to_be_one(data):
    with pytest.raises(NegativeResult, match="cannot be read"):
        table.read(data)


def test_a_huge_table_is_not_read():
    with pytest.raises(NegativeResult, match="bytes"):
        table.read(PATH.read_bytes() + b" " * table.MAX_BYTES)


@given(st.dictionaries(st.sampled_from(["wirings", "others", "pair", "ask"]), st.none() | st.text() | st.integers()))
def test_no_table_of_another_form_gets_through(words):
    with pytest.raises(NegativeResult):
        table.read(json.dumps(words).encode())
