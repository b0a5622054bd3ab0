"""The arithmetic of sglang.bench_serving and guidellm on a recorded stream, written down again from their sources.

What they do is re-implemented here from reading SGLang 0.5.12.post1 (bench_serving.py: async_request_sglang_generate,
calculate_metrics) and guidellm 0.8.1 (schemas/base/request_stats.py), in their own terms and with numpy's definitions,
so that an error in our exports does not hide in a shared formula.
"""

from __future__ import annotations

import dataclasses
import json
import statistics

import pytest

from console.probe.metrics import measure
from console.probe.trace import BlockTrace
from console.report.bench_serving import bench_serving_line
from console.report.guidellm import guidellm_report
from tests.unit.probe.runs import pair_request, recorded_events, recorded_request, stored, trace

SENT = 1000.0


def bench_serving(events, times, sent, end):
    """What bench_serving's client keeps of one /generate stream, and makes of it: seconds."""
    ttft, itl, output_len, last_len, recent = 0.0, [], 0, 0, sent
    for event, now in zip(events, times, strict=True):
        output_len = event["meta_info"]["completion_tokens"]
        if ttft == 0.0:
            ttft = now - sent
        else:
            new = output_len - last_len
            itl += [(now - recent) / new] * new
        recent, last_len = now, output_len
    latency = end - sent
    return {"ttft": ttft, "itl": itl, "output_len": output_len, "tpot": (latency - ttft) / (output_len - 1)}


def guidellm(times, sent, end, output_tokens):
    """guidellm's view of one request: milliseconds."""
    first, last, iterations = times[0], times[-1], len(times)
    return {
        "time_to_first_token_ms": 1000 * (first - sent),
        "time_per_output_token_ms": 1000 * (last - sent) / output_tokens,
        "inter_token_latency_ms": 1000 * (last - first) / (output_tokens - 1),
        "output_tokens_per_second": output_tokens / (end - sent),
        "output_tokens_per_iteration": output_tokens / iterations,
        "iter_tokens_per_iteration": (output_tokens - 1) / (iterations - 1),
    }


@pytest.fixture(scope="module")
def recorded():
    """The stream of 60 tokens, ours and theirs."""
    request = recorded_request()
    times = [SENT + at for at, _ in request.chunks]
    block = BlockTrace(0, 1, 60, request.e2e_s, 0.0)
    found = trace(request, blocks=(block,))
    run = dataclasses.replace(stored(1.0), result=measure(found))
    line = json.loads(bench_serving_line(run, found))
    theirs = json.loads(guidellm_report(run, found))["benchmarks"][0]
    return run.result, line, theirs, times, SENT + request.e2e_s


def test_our_export_is_bench_serving_s_own_arithmetic(recorded):
    _, line, _, times, end = recorded
    theirs = bench_serving(recorded_events(), times, SENT, end)
    assert line["output_lens"] == [theirs["output_len"]] == [60]
    assert line["ttfts"] == [pytest.approx(theirs["ttft"])]
    assert line["itls"][0] == pytest.approx(theirs["itl"])
    assert line["mean_tpot_ms"] == pytest.approx(1000 * theirs["tpot"])
    assert line["mean_itl_ms"] == pytest.approx(1000 * statistics.fmean(theirs["itl"]))
    assert line["median_itl_ms"] == pytest.approx(1000 * statistics.median(theirs["itl"]))
    assert line["std_itl_ms"] == pytest.approx(1000 * statistics.pstdev(theirs["itl"]))
    assert line["max_concurrent_requests"] == 1


def test_where_definitions_agree_so_do_our_numbers(recorded):
    ours, line, theirs, times, end = recorded
    one = guidellm(times, SENT, end, 60)
    assert (
        ours.output_tok_s == pytest.approx(line["output_throughput"]) == pytest.approx(one["output_tokens_per_second"])
    )
    assert ours.ttft_ms.mean == pytest.approx(line["mean_ttft_ms"]) == pytest.approx(one["time_to_first_token_ms"])
    assert ours.e2e_ms.mean == pytest.approx(line["mean_e2e_latency_ms"])
    assert ours.tpot_ms.mean == pytest.approx(one["inter_token_latency_ms"]), "guidellm's ITL is our TPOT"
    assert ours.tpot_ms.mean == pytest.approx(line["mean_tpot_ms"]), "the last event ends the stream"
    assert ours.tpot_ms.mean == pytest.approx(line["mean_itl_ms"]), "gaps shared among their tokens add up"
    for name, value in one.items():
        assert theirs["requests"]["successful"][0][name] == pytest.approx(value), name


def test_where_they_differ_it_is_by_what_the_docs_say(recorded):
    ours, line, theirs, times, end = recorded
    one = guidellm(times, SENT, end, 60)
    # guidellm's TPOT holds the time to the first token.
    assert one["time_per_output_token_ms"] * 60 == pytest.approx(ours.tpot_ms.mean * 59 + ours.ttft_ms.mean)
    # A chunk is not a token: its gap is 4.2 times the time of a token here.
    assert ours.chunk_gap_ms.mean / ours.tpot_ms.mean == pytest.approx(59 / 14)
    # guidellm's tokens per iteration, without the first, is the accept length that does not count prefill's token.
    assert round(one["iter_tokens_per_iteration"], 4) == 4.2143
    assert round(ours.accept_len, 4) == 4.2857 == round(line["accept_length"], 4)
    assert theirs["metrics"]["inter_token_latency_ms"]["successful"]["mean"] == pytest.approx(ours.tpot_ms.mean)


def test_a_tail_after_the_last_token_is_in_bench_serving_s_tpot_and_not_in_ours():
    late = pair_request(e2e_s=pair_request().chunks[-1][0] + 0.4)
    found = trace(late)
    run = dataclasses.replace(stored(1.0), result=measure(found))
    line = json.loads(bench_serving_line(run, found))
    assert line["mean_tpot_ms"] - run.result.tpot_ms.mean == pytest.approx(400 / 399)


def test_a_bench_serving_reader_finds_its_keys_and_null_for_what_is_not_measured(recorded):
    _, line, _, _, _ = recorded
    assert line["completed"] == 1
    assert (line["total_input_tokens"], line["total_output_tokens"]) == (3, 60)
    assert line["total_throughput"] == pytest.approx(63 / line["duration"])
    assert line["concurrency"] == pytest.approx(1.0)
    assert line["max_output_tokens_per_s"] is None
    assert line["total_output_tokens_retokenized"] is None
    assert line["backend"] == "sglang"
    assert line["errors"] == [""]


def test_warm_up_and_failed_requests_are_in_neither():
    failed = pair_request(index=1, error="early_end: 3 of 400 tokens", completion_tokens=3, chunks=((0.1, 3),))
    found = trace(pair_request(block=-1, warmup=True), pair_request(), failed)
    run = stored(1.0)
    assert json.loads(bench_serving_line(run, found))["completed"] == 1
    assert len(json.loads(guidellm_report(run, found))["benchmarks"][0]["requests"]["successful"]) == 1


def test_a_stream_that_counts_at_its_end_has_a_tpot_and_no_itl():
    final = pair_request(chunks=(), first_token_s=0.1, completion_tokens=101, e2e_s=0.5)
    line = json.loads(bench_serving_line(stored(1.0), trace(final)))
    assert line["mean_tpot_ms"] == pytest.approx(4.0)
    assert line["mean_itl_ms"] is None
    metrics = json.loads(guidellm_report(stored(1.0), trace(final)))["benchmarks"][0]["metrics"]
    assert metrics["inter_token_latency_ms"]["successful"] is None


def test_guidellm_weighs_a_request_by_its_tokens():
    short = pair_request(index=1, chunks=((0.1, 1), (0.2, 3)), completion_tokens=3, e2e_s=0.2)
    metrics = json.loads(guidellm_report(stored(1.0), trace(pair_request(), short)))["benchmarks"][0]["metrics"]
    long_ms, short_ms = 860 / 399, 50.0
    mean = metrics["inter_token_latency_ms"]["successful"]["mean"]
    assert mean == pytest.approx((long_ms * 399 + short_ms * 2) / 401)
    assert metrics["time_to_first_token_ms"]["successful"]["mean"] == pytest.approx((50 + 100) / 2)


def test_an_empty_run_is_valid_json_without_numbers():
    found = trace(blocks=(), done=None)
    assert json.loads(bench_serving_line(stored(), found))["output_throughput"] is None
    assert json.loads(guidellm_report(stored(), found))["benchmarks"][0]["requests"]["successful"] == []
