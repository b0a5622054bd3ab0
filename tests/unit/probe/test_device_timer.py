"""GPU time by stage, between two answers of /metrics: whose it was is checked by the tokens that were made."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.probe.device_timer import TimerReading, device_split, read_timer

METRICS = """# TYPE sglang:forward_execution_seconds_total counter
sglang:forward_execution_seconds_total{category="target_verify",model_name="/m",tp_rank="0"} %f
sglang:forward_execution_seconds_total{model_name="/m",tp_rank="0",category="extend"} 2.5
sglang:forward_execution_seconds_total{model_name="/m",tp_rank="1",category="extend"} 1.5
sglang:gen_throughput{model_name="/m"} 90.0
sglang:generation_tokens_total{model_name="/m"} %d
"""


def reading(seconds: float, tokens: int) -> TimerReading:
    return read_timer(METRICS % (seconds, tokens))


BEFORE = reading(10.0, 8)
AFTER = reading(12.0, 408)


def test_the_timer_counts_between_two_answers():
    found = device_split(BEFORE, AFTER, 400, 100)
    assert found.seconds == {"target_verify": 2.0, "extend": 0.0}
    assert found.verify_ms == pytest.approx(20.0)
    assert device_split(BEFORE, AFTER, 400, None).verify_ms is None
    assert BEFORE.seconds["extend"] == 2.5, "ranks run together: not their sum"


def test_a_health_check_in_between_is_no_load():
    assert device_split(BEFORE, reading(12.0, 411), 400, 100).verify_ms == pytest.approx(20.0)


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (BEFORE, read_timer("sglang:gen_throughput 1.0\n"), "the device timer is off"),
        (BEFORE, reading(3.0, 500), "started anew"),
        (BEFORE, reading(12.0, 0), "started anew"),
        (BEFORE, reading(12.0, 8), "counts no tokens"),
        (BEFORE, reading(12.0, 1208), "it made 1200 tokens, 400 of them for this run"),
    ],
)
def test_what_is_not_this_runs_is_not_given(before, after, why):
    assert why in device_split(before, after, 400, 100)


@pytest.mark.parametrize("value", ["NaN", "-1", "1e99", "x", ""])
def test_a_timer_that_tells_no_number_is_not_read(value):
    page = 'sglang:forward_execution_seconds_total{category="extend"} %s\nsglang:generation_tokens_total{} %s\n'
    assert read_timer(page % (value, value)) == TimerReading({}, 0.0)


def test_categories_without_end_stay_few():
    page = "".join(f'sglang:gpu_execution_seconds_total{{category="c{n}"}} 1\n' for n in range(5000))
    assert len(read_timer(page).seconds) == 100


@given(st.text(max_size=200))
def test_no_answer_breaks_it(text):
    found = read_timer(text)
    device_split(BEFORE, found, 400, 5)
    assert TimerReading.from_json(json.loads(json.dumps(asdict(found)))) == found
