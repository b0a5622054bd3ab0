"""Decode statistics."""

from __future__ import annotations

import csv

import pytest

from console.logs.stats import accept_rate
from tests.unit.logs.samples import DATA, history, told


def test_the_last_batch_1_line_of_the_real_log() -> None:
    stats = history("h200/tp4-eagle3.log").stats
    last = stats.last_at_batch_1()
    assert last is not None
    assert (last.accept_len, last.gen_throughput, last.ts) == (3.58, 524.31, "2026-11-29 22:26:05")
    assert last.includes_idle
    rate = stats.rate(last)
    assert (stats.draft_tokens, rate.printed, rate.strict, rate.formula) == (6, 0.52, 0.516, "strict")


def test_a_window_after_idle_is_left_out_of_the_median() -> None:
    stats = history("cases/E04-first-window.log").stats
    assert [window.includes_idle for window in stats.windows] == [True, False, False, False, False]
    assert stats.median_throughput_at_batch_1() == pytest.approx((165.59 + 178.86) / 2)
    assert stats.series("gen_throughput")[0] == 0.39
    assert stats.series("accept_len") == [2.17, 1.95, 1.80, 2.05, 1.80]


def test_accept_rates_of_all_releases_have_their_strict_form() -> None:
    with (DATA / "cases" / "E10-rate.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 6
    for row in rows:
        rate = accept_rate(float(row["accept_len"]), float(row["printed_rate"]), int(row["draft_tokens"]))
        assert rate.strict == pytest.approx(float(row["strict_rate"]), abs=0.001)
        assert rate.formula == ("strict" if row["sglang"] == "0.5.12" else "with_bonus")


def test_what_no_formula_gives_is_said_and_full_acceptance_fits_both() -> None:
    assert accept_rate(2.0, 0.9, 6).formula is None
    assert accept_rate(6.0, 1.0, 6).formula == "either"
    assert accept_rate(2.0, 0.5, None).strict is None
    assert accept_rate(None, None, 6).strict is None


def test_a_server_without_speculation_has_no_accept_len() -> None:
    stats = told(
        "[2026-11-11 04:06:27] Decode batch, #running-req: 1, cuda graph: False, gen throughput (token/s): 44.00\n"
    ).stats
    last = stats.last_at_batch_1()
    assert last is not None
    assert (last.accept_len, last.cuda_graph, last.gen_throughput) == (None, False, 44.0)


def test_groups_of_data_parallel_are_idle_each_for_itself() -> None:
    decode = "[2026-01-12 06:01:00 DP{0} TP{0}] Decode batch, #running-req: 8, gen throughput (token/s): 4.00\n"
    prefill = "[2026-01-12 06:01:00 DP1 TP1] Prefill batch, #new-seq: 1, #running-req: 0\n"
    text = decode.format(0) + decode.format(1) + prefill + decode.format(0) + decode.format(1) + decode.format(1)
    assert [window.includes_idle for window in told(text).stats.windows] == [True, True, False, True, False]


def test_every_series_is_summed_up_with_its_ends_and_middle() -> None:
    heads = ("1, #token: 5, token usage: 0.10", "4, #token: 9, token usage: 0.30", "2, #token: 7, token usage: 0.20")
    lines = [
        f"[2026-02-20 10:00:0{n} TP0] Decode batch, #running-req: {head}, accept len: {n + 2}.00, accept rate: 0.4{n}, "
        f"cuda graph: True, gen throughput (token/s): {100 + n}.00, #queue-req: {n}\n"
        for n, head in enumerate(heads)
    ]
    cycles = [
        f"[EAGLE3_CYCLE] rank=0 seq={n} worker=W bs=1 draft_ms=3.000 verify_ms={9 + n}.000 target_ms=9.000 "
        f"extend_ms=1.000 cycle_ms={14 + n}.000 gap_ms=- clock=cuda\n"
        for n in range(3)
    ]
    stats = told("[2026-02-20 10:00:00] server_args=ServerArgs(speculative_num_draft_tokens=5)\n" + "".join(lines))
    said = told("".join(lines + cycles)).to_json()["stats"]
    assert isinstance(said, dict)
    names = ("running_req", "queue_req", "token_usage", "accept_len", "accept_rate", "verify_ms", "cycle_ms")
    ends = [tuple(said[name][key] for key in ("first", "last", "min", "median", "max", "count")) for name in names]
    assert ends == [
        (1, 2, 1, 2, 4, 3),
        (0, 2, 0, 1, 2, 3),
        (0.1, 0.2, 0.1, 0.2, 0.3, 3),
        (2, 4, 2, 3, 4, 3),
        (0.4, 0.42, 0.4, 0.41, 0.42, 3),
        (9, 11, 9, 10, 11, 3),
        (14, 16, 14, 15, 16, 3),
    ]
    assert said["gen_throughput"]["count"] == 2, "the first window has idle time in it"
    assert stats.stats.to_json()["strict_accept_rate"] == {
        "first": 0.25, "last": 0.75, "min": 0.25, "median": 0.5, "max": 0.75, "count": 3,
    }  # fmt: skip
    assert told("nothing\n").to_json()["stats"]["cycle_ms"] is None  # type: ignore[index]
