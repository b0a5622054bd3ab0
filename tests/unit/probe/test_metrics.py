"""The numbers of a run, against streams whose numbers are known."""

from __future__ import annotations

import json
from pathlib import Path

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
from console.probe.metrics import ProbeResult, break_even_accept_len, distribution, measure
from console.probe.trace import BlockTrace, Done, Flush
from remote_agent.probe.stream import events, meta_info
from tests.unit.probe.runs import PAIR_HISTOGRAM, pair_chunks, pair_request, trace

STREAM = Path(__file__).parents[2] / "data" / "probe" / "tp4-eagle3.stream.txt"


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
    found = list(events([STREAM.read_bytes()]))
    chunks = [(0.0, event["meta_info"]["completion_tokens"]) for event in found]
    meta = meta_info(found[-1])
    assert list(count_drafts(chunk_drafts(chunks))) == meta["spec_correct_drafts_histogram"] == [3, 1, 1, 1, 1, 7]
    request = pair_request(chunks=tuple(chunks), completion_tokens=60, meta_info=meta)
    assert accept_len([request]) == meta["spec_accept_length"] == 60 / 14
    assert histogram([request]).counts == (3, 1, 1, 1, 1, 7)
    old = pair_request(chunks=tuple(chunks), completion_tokens=60, meta_info={"spec_verify_ct": 14})
    assert histogram([old]).counts == (3, 1, 1, 1, 1, 6)


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
    assert (found.n, found.mean, found.p50, found.p99) == (101, 50.0, 50.0, 99.0)
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
    del data["cycle_ms"]
    assert ProbeResult.from_json(data).cycle_ms is None
