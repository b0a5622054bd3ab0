"""Series as they are drawn: bounded, true to their means and extremes, each point with its place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.logs.series import POINTS_LIMIT, Points
from tests.unit.logs.samples import DATA, history, told


def test_the_real_log_gives_all_series():
    kept = history("h200/tp4-eagle3.log")
    names = ("accept_len", "accept_rate", "strict_rate", "gen_throughput", "running_req", "queue_req", "token_usage")
    assert kept.series.names() == names
    data = (DATA / "h200/tp4-eagle3.log").read_bytes()
    for point in kept.series.points("accept_len"):
        line = data[point.offset :].partition(b"\n")[0].decode()
        assert f"accept len: {point.value:.2f}" in line
        assert point.ts is not None
        assert line.startswith(f"[{point.ts}")


def test_the_strict_rate_stands_beside_the_printed_one():
    series = history("cases/E04-first-window.log").series
    assert [round(one.value, 3) for one in series.points("strict_rate")] == [0.39, 0.317, 0.267, 0.35, 0.267]
    assert [one.value for one in series.points("accept_rate")] == [0.54, 0.49, 0.45, 0.51, 0.45]


def test_the_draft_tokens_are_looked_for_once_and_not_for_each_point(monkeypatch):
    kept = history("cases/E04-first-window.log")
    kept.stats.draft_tokens = None
    told, asked = kept.stats.told_by_rates, []
    monkeypatch.setattr(kept.stats, "told_by_rates", lambda: asked.append(1) or told())
    assert len(kept.series.points("accept_len")) > 1
    kept.series.points("strict_rate")
    assert len(asked) == 1


def test_the_first_window_after_idle_is_marked_in_throughput_alone():
    series = history("cases/E04-first-window.log").series
    assert [one.idle for one in series.points("gen_throughput")] == [True, False, False, False, False]
    assert not any(one.idle for one in series.points("accept_len"))


def test_a_server_without_speculation_has_no_accept_series():
    series = history("h200/tp4-baseline.log").series
    assert series.names() == ("gen_throughput", "running_req", "queue_req", "token_usage")
    assert series.points("strict_rate") == ()
    assert series.last("accept_len") is None


def test_another_launch_begins_anew():
    window = "[2026-01-12 06:01:00 TP0] Decode batch, #running-req: 8, gen throughput (token/s): 4.00\n"
    kept = told(window * 3 + "[2026-01-12 06:02:00] server_args=ServerArgs(tp_size=1)\n" + window)
    assert len(kept.series.points("running_req")) == 1


@given(st.lists(st.tuples(st.floats(-1e9, 1e9), st.booleans()), max_size=300), st.integers(1, 8).map(lambda n: 2 * n))
def test_points_stay_few_and_keep_order_extremes_and_mean(windows: list[tuple[float, bool]], limit: int):
    points = Points(limit)
    for at, (value, idle) in enumerate(windows):
        points.add(at, None, value, idle=idle)
    kept = points.all()
    assert len(kept) <= limit
    assert [one.offset for one in kept] == sorted(one.offset for one in kept)
    busy = [value for value, idle in windows if not idle]
    told_busy = [one for one in kept if not one.idle]
    assert sum(one.count for one in told_busy) == len(busy)
    if busy:
        assert (min(one.low for one in told_busy), max(one.high for one in told_busy)) == (min(busy), max(busy))
        mean = sum(one.value * one.count for one in told_busy) / len(busy)
        assert mean == pytest.approx(sum(busy) / len(busy), abs=1e-3)


@pytest.mark.slow
def test_a_million_windows_are_a_thousand_points():
    points = Points()
    for at in range(1_000_000):
        points.add(at, None, float(at))
    assert POINTS_LIMIT // 2 <= len(points.all()) <= POINTS_LIMIT
    assert points.all()[0].offset == 0
    assert points.last is not None
    assert points.last.high == 999_999.0


def test_what_is_no_number_is_left_out():
    points = Points()
    points.add(0, None, float("nan"))
    points.add(1, None, float("inf"))
    assert points.all() == ()
