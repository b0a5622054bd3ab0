"""Bytes of a stream to events, however they are cut and whatever they hold."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from remote_agent.protocol.probe import stream
from remote_agent.protocol.probe.forms import GenerateReader
from remote_agent.protocol.probe.stream import (
    EventStream,
    StreamError,
    capped,
    decode,
    finish_reason,
    meta_info,
    token_count,
)
from tests.unit.probe.runs import STREAM


def outcome(parts):
    """The events of a stream, and how it ended: done, cut_off, or the kind of its error."""
    found, events = [], EventStream()
    try:
        for part in parts:
            found.extend(decode(payload) for payload in events.feed(part))
            if events.is_done:
                return found, "done"
    except StreamError as error:
        return found, error.kind
    return found, "cut_off"


def counts(parts, *, is_fast):
    """Tokens after each event, and how the stream ended: as the probe reads it, or by decoding every event."""
    found, events, reader = [], EventStream(), GenerateReader(keep_output=False)
    try:
        for part in parts:
            for payload in events.feed(part):
                if is_fast:
                    reader.read(payload)
                    found.append(reader.tokens)
                else:
                    found.append(token_count(meta_info(decode(payload)), found[-1] if found else 0))
        reader.end()
    except StreamError as error:
        return found, error.kind
    return found, "done" if events.is_done else "cut_off"


def cut(data, places):
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[a:b] for a, b in pairwise(edges)]


def test_a_real_stream_of_0_5_12_gives_its_token_counts():
    found, end = outcome([STREAM.read_bytes()])
    assert end == "done"
    assert found[-1]["meta_info"]["spec_verify_ct"] == 14
    assert finish_reason(meta_info(found[-1])) == "length"
    assert counts([STREAM.read_bytes()], is_fast=True) == (
        [1, 7, 13, 19, 23, 24, 29, 35, 41, 47, 49, 52, 53, 54, 60],
        "done",
    )


def test_an_event_that_repeats_the_last_but_for_numbers_is_not_decoded(monkeypatch):
    decoded = []
    monkeypatch.setattr(
        "remote_agent.protocol.probe.forms.decode", lambda payload: decoded.append(payload) or json.loads(payload)
    )
    events = [sglang(count) for count in range(1, 100)]
    assert counts([as_stream(events)], is_fast=True)[0] == list(range(1, 100))
    assert decoded == [json.dumps(each).encode() for each in (events[0], events[-1])]


def sglang(count, text="x", **meta):
    return {
        "text": text * count,
        "output_ids": [7] * count,
        "meta_info": {"id": "1f", "finish_reason": None, "prompt_tokens": 3, "completion_tokens": count, **meta},
    }


def as_stream(events, separators=None, done=b"data: [DONE]\n\n"):
    return b"".join(b"data: " + json.dumps(e, separators=separators).encode() + b"\n\n" for e in events) + done


DECOYS = st.sampled_from(
    [
        '"meta_info":{"completion_tokens":9}}',
        ',"meta_info":{"completion_tokens":9,"finish_reason":null}}',
        '\\"meta_info": {"completion_tokens": 99}}',
        "\\",
        '"completion_tokens":7',
        "{}}",
        "é\n",
    ]
)
KEYS = st.sampled_from(["text", "meta_info", "completion_tokens", "completion_tokens1", "id", 'x"meta_info', "index"])
JSON = st.recursive(
    st.integers(0, 12) | st.none() | st.booleans() | DECOYS | st.floats(0, 9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=8,
)
METAS = st.builds(
    lambda count, extra, kind: {"id": "1f", "finish_reason": kind, "completion_tokens": count, **extra},
    st.integers(0, 12),
    st.dictionaries(KEYS | st.sampled_from(["queue_time", "spec_verify_ct"]), JSON, max_size=2),
    st.sampled_from([None, None, None, {"type": "length", "length": 5}]),
)
EVENTS = (
    st.builds(lambda text, count, verify: sglang(count, text, spec_verify_ct=verify), DECOYS, *[st.integers(0, 99)] * 2)
    | st.builds(lambda text, meta, after: {"text": text, "meta_info": meta, **after}, DECOYS, METAS, st.just({}))
    | st.builds(lambda meta, after: {"meta_info": meta, **after}, METAS, st.dictionaries(KEYS, JSON, max_size=1))
    | st.builds(lambda value: {"error": value}, JSON)
    | JSON
)


@given(
    st.lists(EVENTS, max_size=8).map(lambda events: sorted(events, key=_count)) | st.lists(EVENTS, max_size=8),
    st.lists(st.integers(min_value=0), max_size=20),
    st.sampled_from([None, (",", ":")]),
)
@example([sglang(1), sglang(2), {**sglang(3), "more": {"meta_info": {"completion_tokens": 9}}}], [], None)
@example([{"a": {"meta_info": {"completion_tokens": 1}}}, {"a": {"meta_info": {"completion_tokens": 2}}}], [], None)
@example(
    [{"meta_info": {"completion_tokens": 1}, "a": {"meta_info": {"completion_tokens": n}}} for n in (1, 2)], [], None
)
def test_the_fast_reader_and_the_one_that_decodes_all_agree(events, places, separators):
    data = as_stream(events, separators)
    assert counts(cut(data, places), is_fast=True) == counts([data], is_fast=False)


def _count(event):
    meta = event.get("meta_info") if isinstance(event, dict) else None
    count = meta.get("completion_tokens") if isinstance(meta, dict) else None
    return count if type(count) is int else 0


@given(st.lists(st.integers(min_value=0), max_size=40))
def test_a_real_stream_reads_the_same_however_it_is_cut(places):
    data = STREAM.read_bytes()
    assert outcome(cut(data, places)) == outcome([data])
    assert counts(cut(data, places), is_fast=True) == counts([data], is_fast=False)


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
    counts([as_stream([sglang(1)], done=b""), b"data: " + data + b"\n\n"], is_fast=True)


@given(st.binary(max_size=30), st.integers(0, 200))
def test_no_bytes_inside_an_event_break_the_reader(data, place):
    whole = as_stream([sglang(2)], done=b"")
    place = min(place, len(whole) - 2)
    found, _ = counts([as_stream([sglang(1)], done=b""), whole[:place] + data + whole[place:]], is_fast=True)
    assert found[0] == 1


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
    ],
    ids=["empty", "cut", "half json", "not utf-8", "deep", "number"],
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


@pytest.mark.parametrize(
    ("event", "kind", "message"),
    [
        ({"text": "x"}, "no_meta_info", "meta_info"),
        ({"error": {"message": "out of memory", "code": 500}}, "server_error", "out of memory"),
        ({"error": "gone"}, "server_error", "gone"),
    ],
)
def test_an_event_without_meta_info_is_refused(event, kind, message):
    with pytest.raises(StreamError) as caught:
        meta_info(event)
    assert caught.value.kind == kind
    assert message in caught.value.message


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
    ((event,), _) = outcome([b'data: {"meta_info": {"a": NaN, "b": 1e999, "c": [Infinity, 1]}}\n\ndata: [DONE]\n\n'])
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
