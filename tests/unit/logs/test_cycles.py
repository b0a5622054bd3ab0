"""Cycle records as a stacked series and a summary."""

from __future__ import annotations

from tests.unit.logs.samples import history, told


def cycle(rank: int, draft: float, verify: float | None, extend: float, whole: float, gap: str = "-") -> str:
    said = "-" if verify is None else f"{verify:.3f}"
    head = f"[EAGLE3_CYCLE] rank={rank} seq=1 worker=EAGLEWorkerV2 bs=1 draft_ms={draft:.3f} verify_ms={said}"
    return f"{head} target_ms=1.000 extend_ms={extend:.3f} cycle_ms={whole:.3f} gap_ms={gap} clock=cuda\n"


def test_stages_are_stacked_and_the_rest_is_other():
    (point,) = told(cycle(0, 3, 9, 1, 14)).cycles.points()
    assert (point.draft_ms, point.verify_ms, point.extend_ms, point.other_ms, point.cycle_ms) == (3, 9, 1, 1, 14)


def test_the_lowest_rank_s_cycles_are_drawn_and_all_ranks_compared():
    kept = told(cycle(1, 3, 9, 1, 20) + cycle(0, 3, 9, 1, 14) * 3 + cycle(1, 3, 9, 1, 22) * 2)
    assert (kept.cycles.rank, len(kept.cycles.points())) == (0, 3)
    assert kept.cycles.by_rank() == {0: 14.0, 1: 22.0}


def test_a_summary_tells_medians_and_the_share_of_the_verify():
    summary = told("".join(cycle(0, 3, verify, 1, 20) for verify in (8, 10, 12))).cycles.summary()
    assert summary is not None
    assert (summary.count, summary.verify_ms, summary.verify_share, summary.clock) == (3, 10, 0.5, "cuda")


def test_the_time_to_the_next_cycle_is_the_median_of_those_that_were_told():
    gaps = ("-", "1.250", "0.500", "1.000")
    summary = told("".join(cycle(0, 3, 9, 1, 14, gap) for gap in gaps)).cycles.summary()
    assert summary is not None
    assert (summary.gap_ms, summary.count) == (1.0, 4)
    untold = told(cycle(0, 3, 9, 1, 14)).cycles.summary()
    assert untold is not None
    assert untold.gap_ms is None
    assert untold.round_ms is None


def test_a_round_is_what_a_client_waits_on_average_where_a_few_cycles_are_slow():
    told_ms = ((2.0, "-"), (2.0, "1.000"), (2.0, "1.000"), (8.0, "4.000"))
    summary = told("".join(cycle(0, 0.5, 1, 0.5, whole, gap) for whole, gap in told_ms)).cycles.summary()
    assert summary is not None
    assert (summary.cycle_ms, summary.gap_ms) == (2.0, 1.0)
    assert summary.round_ms == 6.0, "the mean of 3, 3 and 12: the first has no gap"


def test_a_prefill_and_a_failed_instrument_are_no_cycles():
    kept = told(cycle(0, 3, None, 1, 14) + "[EAGLE3_CYCLE] rank=0 site=EAGLEWorker error=TypeError\n")
    assert (kept.cycles.points(), kept.cycles.summary(), kept.cycles.errors) == ((), None, 1)
    assert kept.cycles.to_json() is None


def test_points_have_the_log_s_time():
    (point,) = told("[2026-02-20 10:02:11 TP0] Decode batch, #running-req: 1\n" + cycle(0, 3, 9, 1, 14)).cycles.points()
    assert point.ts == "2026-02-20 10:02:11"


def test_the_cpu_server_s_cycles():
    summary = history("sglang_cpu/tp2-digest-cycle.log").cycles.summary()
    assert summary is not None
    assert (summary.count, summary.clock, round(summary.verify_share, 3)) == (5, "host", 0.579)
