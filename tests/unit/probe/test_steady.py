"""The steady window against streams of which every token's time is known."""

from __future__ import annotations

import pytest

from console.probe.metrics import measure
from console.probe.steady import concurrency, steady_window
from console.probe.trace import BlockTrace
from tests.unit.probe.runs import pair_request, trace

RATE = 100.0
"""Tokens a second of each stream, in chunks of five."""


def stream(index, sent, ttft=0.1, tokens=101, **changes):
    """A stream of RATE after its first token."""
    chunks = [(ttft, 1)]
    while chunks[-1][1] < tokens:
        made = min(tokens, chunks[-1][1] + 5)
        chunks.append((ttft + (made - 1) / RATE, made))
    fields = {"chunks": tuple(chunks), "completion_tokens": tokens, "e2e_s": chunks[-1][0] + 0.0001, "meta_info": {}}
    return pair_request(index=index, **{**fields, "sent_at": 1000 + sent, **changes})


def block(*requests):
    begin = min(each.sent_at for each in requests)
    wall_s = max(each.sent_at + each.e2e_s for each in requests) - begin
    return BlockTrace(0, len(requests), sum(each.completion_tokens for each in requests), wall_s, 0.0)


def window(*requests):
    return steady_window(block(*requests), requests)


def test_it_goes_from_the_last_first_token_to_the_first_end():
    found = window(stream(0, 0.0), stream(1, 0.3), stream(2, 0.05))
    # begin: 0.3 + 0.1; end: 0.0 + 0.1 + 1.0
    assert found.seconds == pytest.approx(0.7)
    assert found.tok_s == pytest.approx(3 * RATE)


def test_ramp_and_tail_make_the_whole_block_slower_than_the_steady_window():
    requests = (stream(0, 0.0), stream(1, 0.8))
    result = measure(trace(*requests, blocks=(block(*requests),)))
    assert result.concurrency == 2
    assert result.steady_tok_s == pytest.approx(2 * RATE)
    assert result.steady_blocks == (result.steady_tok_s,)
    assert result.output_tok_s < 1.2 * RATE


def test_a_request_that_takes_another_s_place_does_its_prefill_within():
    # One stream of 2.1 s beside two of 1.1 s, one after the other: the second one's prefill, 0.1 s, lies within.
    found = window(stream(0, 0.0, tokens=401), stream(1, 0.0), stream(2, 1.101))
    assert concurrency((stream(0, 0.0, tokens=401), stream(1, 0.0), stream(2, 1.101))) == 2
    assert found.seconds == pytest.approx(2.101)  # from 0.1 to the second one's end
    lost = 0.101 - 1 / RATE  # no token while it prefills, and the first one at its end
    assert found.tokens == pytest.approx((2 * 2.101 - lost) * RATE, abs=0.01)


def test_the_edges_do_not_depend_on_where_chunks_fall():
    found = window(stream(0, 0.0), stream(1, 0.313), stream(2, 0.029))
    assert found.tok_s == pytest.approx(3 * RATE)


@pytest.mark.parametrize(
    "requests",
    [
        [stream(0, 0.0)],
        [stream(0, 0.0), stream(1, 1.2)],
        [stream(0, 0.0), stream(1, 1.05)],
        [stream(0, 0.0), stream(1, 0.0, chunks=())],
        [stream(0, 0.0), stream(1, 0.0, sent_at=None)],
    ],
    ids=["one", "one after the other", "together only before the first token", "no counts", "sent when"],
)
def test_without_streams_side_by_side_there_is_none(requests):
    places = [each for each in requests if each.sent_at is not None]
    assert steady_window(block(*places), requests) is None


def test_a_clock_that_was_set_gives_none():
    requests = (stream(0, 0.0), stream(1, 30.0, e2e_s=31.0), stream(2, 0.0))
    assert steady_window(BlockTrace(0, 3, 303, 1.1, 0.0), requests) is None


def test_one_block_without_it_leaves_the_run_without_it():
    first = (stream(0, 0.0), stream(1, 0.0))
    second = (stream(0, 9.0, block=1), stream(1, 9.0, block=1, chunks=()))
    blocks = (block(*first), BlockTrace(1, 2, 202, 1.1, 0.0))
    result = measure(trace(*first, *second, blocks=blocks))
    assert result.steady_tok_s is None
    assert result.steady_blocks == ()


def test_requests_one_after_the_other_are_one_stream_though_two_clocks_tell_their_times():
    assert concurrency((stream(0, 0.0), stream(1, 1.0999))) == 1
