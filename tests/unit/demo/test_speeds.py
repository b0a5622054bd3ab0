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


def requests(wiring: str, steps: int, graphs: bool, tuned: bool, count: int = 40) -> list[tuple[float, float]]:
    """(tok/s, accept length) of `count` requests of about 400 tokens, by the draws that the server paces by."""
    speed = speeds.Speed(TABLE, wiring, steps, graphs, tuned)
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
    plain, tuned = (speeds.Speed(TABLE, "right", 5, True, on).cycle_s * 1000 for on in (False, True))
    assert (plain - tuned) / row["verify_ms"] == pytest.approx(0.27)
    assert row["verify_ms"] / plain >= 0.949, "verify is over 95 % of the cycle"


def test_two_steps_with_tuned_nccl_is_the_best_point() -> None:
    def tok_s(steps: int, tuned: bool) -> float:
        speed = speeds.Speed(TABLE, "right", steps, True, tuned)
        return float(speed.accept_len / speed.cycle_s)

    points = {(steps, tuned): tok_s(steps, tuned) for steps in range(1, 9) for tuned in (False, True)}
    best, second = sorted(points, key=lambda point: -points[point])[:2]
    assert best == (2, True)
    assert points[best] > 1.03 * points[second], "a sweep could not tell them apart"
    assert points[best] == pytest.approx(94.0, abs=0.1)


def test_requests_differ_a_little() -> None:
    rates = [rate for rate, _ in requests("right", 5, True, False)]
    assert 0.005 < statistics.stdev(rates) / statistics.mean(rates) < 0.025


def test_the_same_prompt_is_accepted_the_same_way() -> None:
    speed = speeds.Speed(TABLE, "right", 5, True, False)
    one, two = (speeds.Cycles(speed, 11, random.Random(noise)) for noise in (1, 2))
    assert [one.next()[1] for _ in range(100)] == [two.next()[1] for _ in range(100)]


def test_steps_between_and_beyond_the_rows() -> None:
    seven = speeds.Speed(TABLE, "right", 7, True, False)
    five = speeds.Speed(TABLE, "right", 5, True, False)
    assert five.accept_len < seven.accept_len < 8
    assert seven.cycle_s > five.cycle_s
    assert speeds.Speed(TABLE, "eagle_flag", 3, True, False).accept_len == 1.0
