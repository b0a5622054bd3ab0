"""Golden curves: a user's file, and a run beside it."""

from __future__ import annotations

import pytest

from console.errors import UsageError
from console.probe.compare import compare_pools
from console.probe.golden import Golden, beside, golden_of, steps_of
from console.yaml_file import load
from tests.unit.probe.runs import ARGV, SPECULATIVE, stored

CURVE = "name: my pair, thinking\nsource: a public collection\ncurve: {1: 1.83, 2: 2.43, 5: 3.46}\n"


def read(text):
    return golden_of(load(text, "curve.yaml"))


def test_a_curve_is_steps_and_accept_lengths():
    assert read(CURVE) == Golden("my pair, thinking", {1: 1.83, 2: 2.43, 5: 3.46}, "a public collection")


def test_a_run_stands_beside_the_point_of_its_steps():
    found = beside(read(CURVE), stored(54.8, accept_len=1.14, argv=SPECULATIVE))
    assert (found.steps, found.expected, found.measured) == (5, 3.46, 1.14)
    assert found.difference == pytest.approx(1.14 / 3.46 - 1)


@pytest.mark.parametrize(
    ("run", "steps"),
    [
        (stored(90.0, accept_len=None), None),
        (stored(90.0, accept_len=2.0, argv=(*ARGV, "--speculative-num-steps", "3")), 3),
        (stored(90.0, accept_len=2.0, argv=(*ARGV, "--speculative-num-steps=x")), None),
    ],
)
def test_what_a_curve_does_not_tell_is_none(run, steps):
    found = beside(read(CURVE), run)
    assert (found.steps, found.expected, found.difference) == (steps, None, None)


def test_the_last_of_a_flag_given_twice_counts():
    assert steps_of([*SPECULATIVE, "--speculative-num-steps", "2"]) == 2


def test_it_is_a_reference_line_and_changes_no_verdict():
    a, b = stored(90.0, 91.0, 89.0), stored(90.0, 91.0, 89.0, accept_len=1.0, argv=SPECULATIVE)
    found = compare_pools([a], [b], ["speculative"], read(CURVE))
    assert found.verdict == compare_pools([a], [b], ["speculative"]).verdict
    assert found.to_json()["golden"]["expected"] == 3.46


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "expected a mapping"),
        ("curve: {1: 2.0}", "needs a name"),
        ("name: x", "expected steps"),
        ("name: x\ncurve: []", "curve.yaml:2:1"),
        ("name: x\ncurve: {0: 2.0}", "no number of steps"),
        ("name: x\ncurve: {a: 2.0}", "no number of steps"),
        ("name: x\ncurve: {'01': 2.0}", "no number of steps"),
        ("name: x\ncurve: {1: 0.9}", "accept length is 1 or more"),
        ("name: x\ncurve: {1: true}", "accept length is 1 or more"),
        ("name: x\ncurve: {1: .nan}", "accept length is 1 or more"),
        ("name: [x]\ncurve: {1: 2.0}", "name is a text"),
        ("name: x\nkurve: {1: 2.0}", "curve.yaml:2:1: unknown key"),
    ],
)
def test_a_file_that_is_no_curve_is_refused_with_the_place(text, said):
    with pytest.raises(UsageError, match=said):
        read(text)


def test_the_nearest_key_is_named():
    with pytest.raises(UsageError) as caught:
        read("name: x\nkurve: {1: 2.0}")
    assert "'curve'" in caught.value.hint
