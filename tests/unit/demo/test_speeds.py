"""The table holds the story's speeds, and what is drawn from it is true to it."""

from __future__ import annotations

import importlib.util
import random
import statistics
from pathlib import Path
from typing import Any

import pytest

import console.demo

SPEEDS = Path(console.demo.__file__).parent / "standin" / "sglang" / "standin" / "speeds.py"


def load() -> Any:
    spec = importlib.util.spec_from_file_location("standin_speeds", SPEEDS)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


speeds = load()
TABLE = speeds.load_table()
TUNED = {"NCCL_PROTO": "LL", "NCCL_ALGO": "Ring", "NCCL_MIN_NCHANNELS": "4", "NCCL_MAX_NCHANNELS": "8"}
"""Of the profile kimi-k2.5-eagle3-tuned."""


def requests(wiring: str, steps: int, graphs: bool, tuned: bool, count: int = 40) -> list[tuple[float, float]]:
    """(tok/s, accept length) of `count` requests of about 400 tokens, by the draws that the server paces by."""
    speed = speeds.Speed(TABLE, wiring, steps, graphs, TUNED if tuned else {})
    jitter = random.Random(7)
    results = []
    for seed in range(count):
        cycles = speeds.Cycles(speed, seed, jitter)
        tokens, seconds, verified = 0, 0.0, 0
        while tokens < 400:
            length, accepted = cycles.next()
            assert 0 <= accepted <= steps
            tokens, seconds, verified = tokens + accepted + 1, seconds + length, verified + 1
        results.append((tokens / seconds, tokens / verified))
    return results


@pytest.mark.parametrize(
    ("wiring", "steps", "graphs", "tuned", "tok_s", "accept_len"),
    [
        ("none", 0, True, False, 90.0, 1.0),
        ("wrong", 5, True, False, 54.8, 1.95),
        ("right", 5, True, False, 61.6, 3.35),
        ("right", 5, True, True, 82.9, 3.35),
        ("right", 2, True, True, 94.0, 2.30),
        ("eagle_flag", 5, True, False, 28.1, 1.0),
        ("right", 5, False, False, 31.2, 3.35),
    ],
)
def test_the_storys_points(wiring: str, steps: int, graphs: bool, tuned: bool, tok_s: float, accept_len: float) -> None:
    drawn = requests(wiring, steps, graphs, tuned)
    assert statistics.mean(rate for rate, _ in drawn) == pytest.approx(tok_s, rel=0.012)
    assert statistics.mean(length for _, length in drawn) == pytest.approx(accept_len, rel=0.01)


def test_acceptance_rates_at_five_steps() -> None:
    rate = {w: (statistics.mean(a for _, a in requests(w, 5, True, False)) - 1) / 5 for w in ("right", "wrong")}
    assert rate["right"] == pytest.approx(0.47, abs=0.01)
    assert rate["wrong"] == pytest.approx(0.19, abs=0.01)


def test_nccl_tuning_cuts_verify_by_27_percent() -> None:
    row = next(row for row in TABLE["rows"] if (row["wiring"], row["steps"]) == ("right", 5))
    plain, tuned = (speeds.Speed(TABLE, "right", 5, True, env).cycle_s * 1000 for env in ({}, TUNED))
    assert (plain - tuned) / row["verify_ms"] == pytest.approx(0.27)
    assert row["verify_ms"] / plain >= 0.949, "verify is over 95 % of the cycle"


def test_two_steps_with_tuned_nccl_is_the_best_point() -> None:
    protocols = (None, "LL", "LL128", "Simple")
    points = {(n, proto): tok_s(n, {"NCCL_PROTO": proto} if proto else {}) for n in range(1, 9) for proto in protocols}
    best, second = sorted(points, key=lambda point: -points[point])[:2]
    assert best == (2, "LL")
    assert points[best] > 1.03 * points[second], "a sweep could not tell them apart"
    assert points[best] == pytest.approx(94.0, abs=0.1)
    assert points[best] / tok_s(0, {}, "none") == pytest.approx(1.05, abs=0.01), "about 5 % over the baseline"
    assert points[2, "Simple"] < points[2, None] < points[2, "LL128"]


@pytest.mark.parametrize(
    ("env", "same_as"),
    [
        (TUNED, {"NCCL_PROTO": "LL"}),
        ({"NCCL_PROTO": "Simple", "NCCL_ALGO": "Ring"}, {"NCCL_PROTO": "Simple"}),
        ({"NCCL_PROTO": "", "NCCL_DEBUG": "INFO"}, {}),
        ({"NCCL_PROTO": "^LL"}, {}),
    ],
)
def test_the_protocol_decides_before_algorithm_and_channels(env: dict[str, str], same_as: dict[str, str]) -> None:
    assert tok_s(5, env) == tok_s(5, same_as)


def tok_s(steps: int, env: dict[str, str], wiring: str = "right") -> float:
    speed = speeds.Speed(TABLE, wiring, steps, True, env)
    return float(speed.accept_len / speed.cycle_s)


def test_requests_differ_a_little() -> None:
    rates = [rate for rate, _ in requests("right", 5, True, False)]
    assert 0.005 < statistics.stdev(rates) / statistics.mean(rates) < 0.025


def test_the_same_prompt_is_accepted_the_same_way() -> None:
    speed = speeds.Speed(TABLE, "right", 5, True, {})
    one, two = (speeds.Cycles(speed, 11, random.Random(noise)) for noise in (1, 2))
    assert [one.next()[1] for _ in range(100)] == [two.next()[1] for _ in range(100)]


def test_steps_between_and_beyond_the_rows() -> None:
    seven = speeds.Speed(TABLE, "right", 7, True, {})
    five = speeds.Speed(TABLE, "right", 5, True, {})
    assert five.accept_len < seven.accept_len < 8
    assert seven.cycle_s > five.cycle_s
    assert speeds.Speed(TABLE, "eagle_flag", 3, True, {}).accept_len == 1.0
