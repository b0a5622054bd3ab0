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
