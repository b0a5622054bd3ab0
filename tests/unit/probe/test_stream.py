"""Bytes of a stream to events, however they are cut and whatever they hold."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remote_agent.probe import stream
from remote_agent.probe.stream import StreamError, capped, events, finish_reason, meta_info, token_count

STREAM = Path(__file__).parents[2] / "data" / "probe" / "tp4-eagle3.stream.txt"


def outcome(parts):
    """The events of a stream, and the kind of the error that ended it."""
    found = []
    try:
        found.extend(events(parts))
    except StreamError as error:
        return found, error.kind
    return found, "done"


def cut(data, places):
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[a:b] for a, b in pairwise(edges)]


def test_a_real_stream_of_0_5_12_gives_its_token_counts():
    found = list(events([STREAM.read_bytes()]))
    counts = [event["meta_info"]["completion_tokens"] for event in found]
    assert counts == [1, 7, 13, 19, 23, 24, 29, 35, 41, 47, 49, 52, 53, 54, 60]
    assert found[-1]["meta_info"]["spec_verify_ct"] == 14
    assert finish_reason(meta_info(found[-1])) == "length"


@given(st.lists(st.integers(min_value=0), max_size=40))
def test_a_real_stream_reads_the_same_however_it_is_cut(places):
    data = STREAM.read_bytes()
    assert outcome(cut(data, places)) == outcome([data])


PIECES = st.sampled_from(
    [
        b"data: ",
        b"data:",
        b'{"a": 1}',
        b'{"a": "\xc3\xa9"}',
        b"\n",
        b"\n\n",
        b"\r\n",
        b"\r",
        b"[DONE]",
        b": ping",
        b"\xff",
    ]
)


@given(st.lists(PIECES, max_size=30).map(b"".join), st.lists(st.integers(min_value=0), max_size=20))
def test_any_bytes_read_the_same_however_they_are_cut(data, places):
    assert outcome(cut(data, places)) == outcome([data])


@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(data):
    outcome([data])


def test_comments_other_fields_and_crlf_are_allowed():
    data = b': ping\r\nevent: x\r\ndata: {"a": 1}\r\n\r\ndata: {"a":\ndata: 2}\n\ndata: [DONE]\n\ndata: {"a": 3}\n\n'
    assert outcome([data]) == ([{"a": 1}, {"a": 2}], "done")


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", "cut_off"),
        (b'data: {"a": 1}', "cut_off"),
        (b"data: {half\n\n", "invalid_json"),
        (b"data: \xff\xfe\n\n", "invalid_json"),
        (b"data: " + b"[" * 100_000 + b"\n\n", "invalid_json"),
        (b"data: 7\n\n", "not_an_object"),
        (b'data: {"error": {"message": "out of memory", "code": 500}}\n\n', "server_error"),
    ],
    ids=["empty", "cut", "half json", "not utf-8", "deep", "number", "error"],
)
def test_what_is_no_stream_is_a_named_error(data, kind):
    assert outcome([data])[1] == kind


def test_events_before_an_error_are_kept():
    assert outcome([b'data: {"a": 1}\n\ndata: nonsense\n\n']) == ([{"a": 1}], "invalid_json")


@pytest.mark.parametrize("ending", [b"", b"\n\n"])
@pytest.mark.parametrize("size", [1, 7, 4096])
def test_an_endless_line_stops_at_the_cap(monkeypatch, ending, size):
    monkeypatch.setattr(stream, "MAX_LINE", 1000)
    data = b'data: {"a": "' + b"x" * 2000 + b'"}' + ending
    assert outcome([data[i : i + size] for i in range(0, len(data), size)])[1] == "line_too_long"


def test_many_data_lines_of_one_event_stop_at_the_cap_too(monkeypatch):
    monkeypatch.setattr(stream, "MAX_LINE", 1000)
    assert outcome([b"data: " + b"x" * 500 + b"\n"] * 3)[1] == "line_too_long"


@pytest.mark.parametrize("value", [None, "7", 7.0, True, -1, 4])
def test_only_a_count_that_does_not_fall_is_a_token_count(value):
    with pytest.raises(StreamError) as caught:
        token_count({"completion_tokens": value}, 5)
    assert caught.value.kind == "no_token_count"


def test_an_event_without_meta_info_is_refused():
    with pytest.raises(StreamError) as caught:
        meta_info({"text": "x"})
    assert caught.value.kind == "no_meta_info"


def test_meta_info_is_kept_open_but_bounded():
    meta = {
        "spec_correct_drafts_histogram": [3, 1],
        "finish_reason": {"type": "length", "length": 60},
        "new_number": 1.5,
        "long": "x" * 10_000,
        "endless": list(range(10_000)),
        "logprobs": [[0.1, 5, None]],
        "nothing": None,
        "infinite": float("inf"),
        "huge": 10**400,
    }
    kept = capped(meta)
    assert kept["spec_correct_drafts_histogram"] == [3, 1]
    assert kept["finish_reason"] == {"type": "length", "length": 60}
    assert kept["new_number"] == 1.5
    assert len(kept["long"]) == stream.META_TEXT
    assert not {"endless", "logprobs", "nothing", "infinite", "huge"} & kept.keys()
    assert len(capped({str(i): i for i in range(10_000)})) == stream.META_KEYS


def test_numbers_that_json_does_not_know_do_not_reach_the_spool():
    (event,) = events([b'data: {"meta_info": {"a": NaN, "b": 1e999, "c": [Infinity, 1]}}\n\ndata: [DONE]\n\n'])
    assert json.dumps(capped(meta_info(event)), allow_nan=False) == "{}"


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (None, None),
        ({"type": "length", "length": 5}, "length"),
        ({"type": "abort", "message": "NaN happened"}, "abort: NaN happened"),
        ("stop", "stop"),
        ({}, "unknown"),
    ],
)
def test_the_finish_reason_is_one_line(reason, text):
    assert finish_reason({"finish_reason": reason}) == text
