"""The spool as the console reads it."""

from __future__ import annotations

import pytest

from console.probe.trace import BlockTrace, Done, Flush, Progress, SpoolFormatError, parse_event, read_spool
from tests.unit.probe.runs import line

REQUEST = {
    "block": 0,
    "index": 1,
    "warmup": False,
    "sent_at": 1.0,
    "e2e_s": 0.3,
    "chunks": [[0.1, 1], [0.2, 7]],
    "completion_tokens": 7,
    "prompt_tokens": 3,
    "cached_tokens": None,
    "finish_reason": "length",
    "error": None,
    "meta_info": {"spec_verify_ct": 1},
}
BLOCK = {"block": 0, "requests": 1, "completion_tokens": 7, "wall_s": 0.3, "client_cpu_s": 0.01}
PROGRESS = {"block": 0, "blocks": 3, "done": 1, "of": 3, "completion_tokens": 9, "elapsed_s": 0.5}


def test_every_event_of_a_spool_is_read():
    spool = (
        line("started", version=1)
        + line("flush", block=0, status=200)
        + line("progress", **PROGRESS)
        + line("request", **REQUEST)
        + line("block", **BLOCK)
        + line("something_newer", value=1)
        + line("done", valid=True, why="")
    )
    trace = read_spool(spool)
    assert trace.bad_lines == 0
    assert trace.requests[0].chunks == ((0.1, 1), (0.2, 7))
    assert trace.requests[0].error == ""
    assert trace.blocks == (BlockTrace(0, 1, 7, 0.3, 0.01),)
    assert trace.flushes == (Flush(0, 200),)
    assert trace.done == Done(True, "")


def test_what_newer_agents_tell_is_read_and_older_spools_leave_it_open():
    told = {**REQUEST, "first_token_s": 0.1, "output_ids": [5, 17], "output_cut": True}
    spool = (
        line("request", **told)
        + line("request", **{**REQUEST, "chunks": [], "output_text": "Hello"})
        + line("block", **BLOCK, log_from=100, log_to=250)
        + line("block", **BLOCK)
        + line("done", valid=True, why="", ended_by="budget")
    )
    trace = read_spool(spool)
    assert trace.bad_lines == 0
    kept, text = trace.requests
    assert (kept.output_ids, kept.output_text, kept.output_cut, kept.first_token_s) == ((5, 17), None, True, 0.1)
    assert (text.output_ids, text.output_text, text.output_cut, text.first_token_s) == (None, "Hello", False, None)
    assert [(block.log_from, block.log_to) for block in trace.blocks] == [(100, 250), (None, None)]
    assert trace.done == Done(True, "", "budget")
    assert read_spool(line("done", valid=True, why="")).done == Done(True, "", "")


def test_a_half_line_at_the_end_is_still_being_written():
    whole = line("done", valid=True, why="")
    assert read_spool(whole[:-1]).done is None
    assert read_spool(whole[:-1]).bad_lines == 0


def test_progress_is_read_from_its_line():
    assert parse_event(line("progress", **PROGRESS)) == Progress(0, 3, 1, 3, 9, 0.5)


@pytest.mark.parametrize(
    "change",
    [
        {"chunks": [[0.2, 7], [0.1, 8]]},
        {"chunks": [[0.1, 7], [0.2, 7]]},
        {"chunks": [[0.1, 7.5]]},
        {"chunks": [[0.1]]},
        {"chunks": {"0": 1}},
        {"chunks": [[-1, 1]]},
        {"chunks": [[10**400, 1]]},
        {"completion_tokens": -1},
        {"completion_tokens": True},
        {"index": None},
        {"warmup": 0},
        {"e2e_s": "0.3"},
        {"cached_tokens": "many"},
        {"output_ids": [5, -1]},
        {"output_ids": "5"},
        {"output_text": 7},
        {"first_token_s": "0.1"},
    ],
)
def test_a_request_of_another_form_is_refused_and_counted(change):
    bad = line("request", **{**REQUEST, **change})
    with pytest.raises(SpoolFormatError):
        parse_event(bad)
    assert read_spool(bad).bad_lines == 1


@pytest.mark.parametrize("bad", [b"", b"{", b"[]", b"\xff", b"[" * 100_000, b'{"event":"request","e2e_s":NaN}'])
def test_garbage_is_refused(bad):
    with pytest.raises(SpoolFormatError):
        parse_event(bad)
