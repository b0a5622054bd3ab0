"""A stored run in words: every figure that there is, its formula, and what it is held against."""

from __future__ import annotations

import dataclasses

from console.actions.probe_outcome import ProbeOutcome
from console.logs.cycles import CycleSummary
from console.probe.device_timer import DeviceSplit
from console.probe.distribution import Distribution, distribution
from console.probe.golden import Golden, beside
from console.probe.server_side import ServerFigures
from tests.unit.probe.runs import SPECULATIVE, fingerprint, stored

RUN = stored(
    90.0,
    91.0,
    90.5,
    run_id="r-2",
    argv=SPECULATIVE,
    output_tok_s=90.5,
    decode_tok_s=95.0,
    ttft_ms=Distribution(3, 50.0, 49.0, 60.0, 58.0),
    tpot_ms=Distribution(3, 10.6, 10.5, 11.0),
    cycle_ms=49.5,
    verifications=258,
    accept_len=4.6512,
    accept_len_formula="sum(completion_tokens) / sum(spec_verify_ct)",
    accept_hist=(8, 10),
    accept_hist_source="spec_correct_drafts_histogram",
    concurrency=1,
    client_cpu_share=0.012,
    notes=("something \x1b[31mhostile",),
    server=ServerFigures(8, 94.0, 94.0, 4.6, 1.0, CycleSummary(86, 49.0, 8.0, 40.0, 1.0, 0.8, "cuda")),
)


def told(outcome: ProbeOutcome) -> dict[str, str]:
    rows = (line.strip().split(maxsplit=1) for line in list(outcome.lines())[1:])
    return {row[0]: row[1] for row in rows if len(row) > 1}


def test_every_figure_is_told_with_its_formula():
    rows = told(ProbeOutcome(RUN))
    assert rows["ttft"] == "p50 49.00, p90 58.00, p99 60.00, mean 50.00 ms (n 3)"
    assert rows["tpot"] == "p50 10.50, p99 11.00, mean 10.60 ms (n 3)", "an older console stored no p90"
    assert rows["accept_len"] == "4.6512 = sum(completion_tokens) / sum(spec_verify_ct)"
    assert rows["cycle"].startswith("49.50 ms, 10.64 ms a token")
    assert rows["blocks"].startswith("90.0 91.0 90.5 tok/s; mean ± 1.4 %")
    assert "94.0 tok/s, accept len 4.6000 over 8 windows, CUDA graphs in 100%" in rows["server"]
    assert "draft 8.00 ms, verify 40.00 ms, extend 1.00 ms" in rows["its"]
    assert rows["client"] == "1.2 % of a core"
    assert "\x1b" not in "".join(ProbeOutcome(RUN).lines())


def with_server(figures: ServerFigures, **env: str) -> ProbeOutcome:
    result = dataclasses.replace(RUN.result, server=figures)
    return ProbeOutcome(dataclasses.replace(RUN, result=result, fingerprint=fingerprint(env=env)))


def test_the_device_timer_is_told_and_why_it_is_not_known_only_where_it_was_asked_for():
    split = DeviceSplit({"extend": 0.25, "target_\x1bverify": 2.0}, 12.5)
    lines = "\n".join(with_server(ServerFigures(device=split)).lines())
    assert "verify 12.50 ms a cycle; target_␛verify 2.00 s, extend 0.25 s" in lines
    assert "over 0 windows" not in lines
    unknown = ServerFigures(8, device_why="the server runs without --enable-metrics")
    assert "GPU time" not in "\n".join(with_server(unknown).lines())
    assert "GPU time" in "\n".join(with_server(unknown, SGLANG_ENABLE_METRICS_DEVICE_TIMER="1").lines())


def test_several_streams_have_a_steady_rate_and_their_tail():
    streams = {"steady_tok_s": 310.0, "concurrency": 4, "ttft_ms": distribution([1.0 * n for n in range(101)])}
    rows = told(ProbeOutcome(stored(90.0, **streams)))
    assert rows["steady"] == "310.0 tok/s while all 4 streams run"
    assert rows["ttft"] == "p50 50.00, p90 90.00, p99 99.00, mean 50.00 ms (n 101)"


def test_a_known_curve_stands_beside_the_run_and_judges_nothing():
    outcome = ProbeOutcome(RUN, golden=beside(Golden("the \x1bpair", {5: 9.3024}), RUN))
    assert told(outcome)["golden"] == "the ␛pair: accept_len 9.30 at 5 steps, measured 4.65 (-50.0 %)"
    assert (outcome.ok, outcome.to_json()["run"]["golden"]["expected"]) == (True, 9.3024)


def test_what_makes_a_speed_worthless_is_said_wherever_the_variable_came_from():
    lines = list(with_server(ServerFigures(), SGLANG_SIMULATE_ACC_LEN="3.5").lines())
    assert "note: acceptance is simulated (SGLANG_SIMULATE_ACC_LEN)" in lines


def test_what_was_not_measured_is_left_out():
    assert set(told(ProbeOutcome(stored(90.0)))) == {"blocks", "requests"}


def test_a_stored_baseline_gives_the_break_even():
    baseline = stored(60.0, run_id="r-1", cycle_ms=16.5, output_tok_s=60.0)
    outcome = ProbeOutcome(RUN, baseline)
    assert told(outcome)["break-even"] == "accept_len 3.0000 = cycle 49.50 ms / baseline step 16.50 ms"
    assert "compare r-1 r-2" in told(outcome)["baseline"]
    against = outcome.to_json()["run"]["against"]
    assert (against["id"], against["break_even_accept_len"]) == ("r-1", 3.0)


def test_a_run_that_is_not_valid_says_why_first():
    broken = dataclasses.replace(RUN, result=dataclasses.replace(RUN.result, valid=False, why="cancelled"))
    outcome = ProbeOutcome(broken)
    assert (outcome.ok, next(outcome.lines())) == (False, "run r-2 INVALID: cancelled")
