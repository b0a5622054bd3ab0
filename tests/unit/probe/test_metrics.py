"""The numbers of a run, against streams whose numbers are known."""

from __future__ import annotations

import dataclasses
import json

import pytest

from console.probe.acceptance import (
    ACCEPT_LEN_FORMULA,
    COALESCED,
    FROM_CHUNKS,
    MIXED,
    accept_len,
    chunk_drafts,
    count_drafts,
    histogram,
)
from console.probe.distribution import distribution
from console.probe.metrics import ProbeResult, break_even_accept_len, measure
from console.probe.trace import BlockTrace, Done, Flush
from tests.unit.probe.runs import PAIR_HISTOGRAM, pair_chunks, pair_request, recorded_request, trace


def without(request_meta, *keys):
    return {k: v for k, v in request_meta.items() if k not in keys}


def no_histogram(**changes):
    return pair_request(meta_info={"spec_verify_ct": 86}, **changes)


def test_the_pair_s_accept_length_and_histogram():
    result = measure(trace(pair_request()))
    assert result.accept_len == 400 / 86
    assert round(result.accept_len, 4) == 4.6512
    assert result.accept_len_formula == ACCEPT_LEN_FORMULA
    assert result.accept_hist == (8, 10, 7, 4, 5, 52)
    assert result.accept_hist_source == "spec_correct_drafts_histogram"


def test_n_requests_give_n_times_the_histogram_and_the_warm_up_none():
    requests = [pair_request(index=i) for i in range(3)]
    result = measure(trace(pair_request(block=-1, warmup=True), *requests))
    assert result.requests == 3
    assert result.accept_len == 400 / 86
    assert result.accept_hist == tuple(3 * count for count in PAIR_HISTOGRAM)


def test_releases_from_0_5_9_to_0_5_11_call_the_histogram_otherwise():
    meta = {"spec_verify_ct": 86, "spec_accept_histogram": list(PAIR_HISTOGRAM)}
    found = histogram([pair_request(meta_info=meta)])
    assert (found.counts, found.source) == (PAIR_HISTOGRAM, "spec_accept_histogram")


def test_older_releases_give_it_by_the_chunks_without_the_cut_one():
    found = histogram([no_histogram(), no_histogram()])
    assert found.source == FROM_CHUNKS
    assert found.counts == (16, 20, 14, 8, 10, 102), "twice the pair's, less each request's last one"


def test_chunks_that_hold_several_verifications_give_no_histogram():
    coalesced = no_histogram(chunks=pair_chunks()[::2])
    assert histogram([coalesced]).counts is None
    assert histogram([coalesced]).source == COALESCED


def test_a_histogram_that_only_some_report_is_not_summed():
    found = histogram([pair_request(), no_histogram()])
    assert (found.counts, found.source) == (None, MIXED)


@pytest.mark.parametrize("told", [[], "52", [1, -1], [1, 2.5], {"0": 1}])
def test_a_histogram_of_another_form_falls_back_to_the_chunks(told):
    meta = {"spec_verify_ct": 86, "spec_correct_drafts_histogram": told}
    assert histogram([pair_request(meta_info=meta)]).source == FROM_CHUNKS


def test_chunks_of_a_real_stream_give_the_histogram_that_the_server_reports():
    request = recorded_request()
    meta = request.meta_info
    assert len(request.chunks) == 15
    assert (
        list(count_drafts(chunk_drafts(request.chunks))) == meta["spec_correct_drafts_histogram"] == [3, 1, 1, 1, 1, 7]
    )
    assert histogram([request]).counts == (3, 1, 1, 1, 1, 7)
    old = dataclasses.replace(request, meta_info={"spec_verify_ct": 14})
    assert histogram([old]).counts == (3, 1, 1, 1, 1, 6)


def test_the_accept_length_of_the_real_stream_counts_prefill_s_token_as_sglang_does():
    result = measure(trace(recorded_request(), blocks=(BlockTrace(0, 1, 60, 1.0, 0.0),)))
    assert (result.completion_tokens, result.verifications) == (60, 14)
    assert round(result.accept_len, 4) == 4.2857 == round(recorded_request().meta_info["spec_accept_length"], 4)
    assert round(59 / 14, 4) == 4.2143, "its rival, without the token of prefill"


def test_without_speculation_there_is_no_acceptance_and_the_cycle_is_the_step():
    chunks = tuple((0.1 + 0.02 * n, n + 1) for n in range(101))
    plain = pair_request(chunks=chunks, completion_tokens=101, meta_info={}, e2e_s=2.1)
    result = measure(trace(plain))
    assert result.accept_len is None
    assert result.accept_hist is None
    assert result.accept_len_formula == ""
    assert result.cycle_ms == pytest.approx(20)
    assert result.step_ms == pytest.approx(20)
    assert result.tpot_ms.mean == pytest.approx(20)


def test_zero_verifications_of_old_releases_mean_no_speculation():
    assert accept_len([pair_request(meta_info={"spec_verify_ct": 0})]) is None


def test_latencies_and_rates_of_a_stream_of_known_rate():
    result = measure(trace(pair_request(), pair_request(index=1)))
    assert result.ttft_ms.mean == pytest.approx(50)
    assert result.chunk_gap_ms.p50 == pytest.approx(10)
    assert result.chunk_gap_ms.n == 2 * 86
    assert result.cycle_ms == pytest.approx(10)
    assert result.tpot_ms.mean == pytest.approx(860 / 399)
    assert result.decode_tok_s == pytest.approx(399 / 0.86)
    assert result.e2e_ms.p99 == pytest.approx(920)
    assert result.output_tok_s == pytest.approx(800)
    assert result.step_ms == pytest.approx(10 * 86 / 400)


def test_throughput_is_all_tokens_by_all_wall_time_and_each_block_by_its_own():
    blocks = (BlockTrace(0, 1, 400, 2.0, 0.01), BlockTrace(1, 1, 400, 4.0, 0.01))
    result = measure(trace(pair_request(), pair_request(block=1), blocks=blocks))
    assert result.blocks == (200.0, 100.0)
    assert result.output_tok_s == pytest.approx(800 / 6)


def test_percentiles_are_exact():
    found = distribution([float(n) for n in range(100, -1, -1)])
    assert (found.n, found.mean) == (101, 50.0)
    assert (found.p50, found.p90, found.p95, found.p99) == (50.0, 90.0, 95.0, 99.0)
    assert distribution([7.0]).p99 == 7.0
    assert distribution([1.0, 2.0]).p50 == 1.5
    assert distribution([]) is None


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"done": None}, "did not finish"),
        ({"done": Done(False, "cancelled")}, "cancelled"),
        ({"bad_lines": 2}, "2 lines"),
        ({"blocks": ()}, "no complete block"),
        ({"blocks": (BlockTrace(0, 1, 400, 0.0, 0.0),)}, "no complete block"),
        ({"blocks": (BlockTrace(0, 1, 399, 1.0, 0.0),)}, "399"),
    ],
)
def test_a_run_is_valid_only_whole(changes, why):
    result = measure(trace(pair_request(), **changes))
    assert not result.valid
    assert why in result.why


def test_a_failed_request_makes_the_run_invalid_and_enters_no_number():
    failed = pair_request(index=1, error="early_end: 3 of 400 tokens", completion_tokens=3, chunks=((0.1, 3),))
    result = measure(trace(pair_request(), failed))
    assert not result.valid
    assert "early_end" in result.why
    assert result.requests == 1
    assert result.accept_len == 400 / 86


def test_an_empty_run_has_no_numbers_but_a_reason():
    result = measure(trace(blocks=(), done=None))
    assert (result.output_tok_s, result.ttft_ms, result.cycle_ms, result.accept_len) == (None, None, None, None)
    assert result.why


def test_what_spoils_a_number_without_making_it_invalid_is_noted():
    cached = pair_request(cached_tokens=14)
    busy = (BlockTrace(0, 1, 400, 1.0, 0.4),)
    result = measure(trace(cached, blocks=busy, flushes=(Flush(0, 400), Flush(1, 200))))
    assert result.valid
    assert result.cached_tokens_max == 14
    assert result.flush_statuses == (400, 200)
    text = "; ".join(result.notes)
    assert "1 of 2 cache flushes" in text
    assert "mostly cached" in text
    assert "client-bound" in text
    assert measure(trace(pair_request())).notes == ()


def test_acceptance_that_only_some_requests_report_is_left_out_and_said():
    result = measure(trace(pair_request(), pair_request(index=1, meta_info={})))
    assert result.accept_len is None
    assert "1 of 2 requests report verifications" in result.notes[0]


def test_break_even_of_the_story():
    assert break_even_accept_len(33.3, 11.1) == pytest.approx(3)


def test_a_result_survives_json_and_keys_of_another_version():
    result = measure(trace(pair_request(), flushes=(Flush(0, 200),)))
    data = json.loads(json.dumps(result.to_json()))
    assert ProbeResult.from_json(data) == result
    assert ProbeResult.from_json({**data, "added_later": 1}) == result
    del data["cycle_ms"], data["ttft_ms"]["p90"]
    assert ProbeResult.from_json(data).cycle_ms is None
    assert ProbeResult.from_json(data).ttft_ms.p90 is None


def final_count(**changes):
    """A request of an OpenAI stream whose usage comes at the end alone."""
    plain = {"chunks": (), "first_token_s": 0.1, "meta_info": {}, "e2e_s": 0.5, "completion_tokens": 101}
    return pair_request(**{**plain, **changes})


def test_what_a_stream_without_counts_cannot_tell_is_none():
    result = measure(trace(final_count(), final_count(index=1)))
    assert result.valid
    assert (result.output_tok_s, result.ttft_ms.mean, result.e2e_ms.mean) == (202.0, 100.0, 500.0)
    assert result.tpot_ms.mean == pytest.approx(400 / 100)
    assert (result.chunk_gap_ms, result.cycle_ms, result.decode_tok_s, result.steady_tok_s) == (None,) * 4
    assert "2 of 2 requests do not count" in result.notes[0]


def test_one_request_without_counts_leaves_no_rate_of_decoding():
    result = measure(trace(pair_request(), final_count(index=1)))
    assert (result.cycle_ms, result.decode_tok_s) == (None, None)
    assert result.chunk_gap_ms.n == 86, "the gaps that are known"


def test_verifications_without_chunks_still_give_the_accept_length():
    found = final_count(meta_info={"spec_verify_ct": 25})
    assert measure(trace(found)).accept_len == 101 / 25
    assert measure(trace(found)).accept_hist is None


def stuck(index, token=0):
    return pair_request(index=index, output_ids=(5, 6, 7, *[token] * 40))


def sound(index):
    return pair_request(index=index, output_ids=tuple(range(40)))


def test_a_server_that_breaks_midway_makes_the_run_invalid():
    broken = measure(trace(sound(0), sound(1), stuck(2), stuck(3)))
    assert not broken.valid
    assert broken.why.startswith("degraded: from request 3 of block 1 on")


@pytest.mark.parametrize(
    "requests",
    [
        [stuck(0), stuck(1), stuck(2)],
        [sound(0), stuck(1), sound(2), stuck(3)],
        [sound(0), sound(1), stuck(2)],
        [pair_request(index=0), pair_request(index=1)],
    ],
    ids=["from the start", "one prompt of several", "once", "not kept"],
)
def test_a_small_model_that_ends_in_one_token_is_not_called_broken(requests):
    assert measure(trace(*requests)).valid
