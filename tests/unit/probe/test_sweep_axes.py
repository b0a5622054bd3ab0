"""Axes are read, multiplied and made coherent; what does not go together is told before anything starts."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.errors import UsageError
from console.launch.layers import parse_set
from console.launch.profile import Speculative
from console.probe import sweep_axes as axes
from console.probe.sweep_axes import DRAFT_TOKENS, STEPS, TOPK, Axis

TOPK_1 = Speculative(algorithm="EAGLE3", eagle_topk=1, num_steps=5, num_draft_tokens=6)
TOPK_4 = Speculative(algorithm="EAGLE3", eagle_topk=4, num_steps=5, num_draft_tokens=8)


@pytest.mark.parametrize(
    ("text", "values"), [("1-5", (1, 2, 3, 4, 5)), ("3", (3,)), ("1,2,5-7", (1, 2, 5, 6, 7)), ("5, 2,5", (5, 2))]
)
def test_steps(text, values):
    assert axes.steps_axis(text) == Axis(STEPS, values)


@pytest.mark.parametrize("text", ["", "a", "1-", "-3", "5-1", "0-2", "1-99999999", "1-2-3", "²", "1,,2", "9" * 40])
def test_steps_that_are_none(text):
    with pytest.raises(UsageError, match="--steps"):
        axes.steps_axis(text)


@pytest.mark.parametrize(
    ("text", "axis"),
    [
        ("page_size=1,64", Axis("page_size", (1, 64))),
        ("speculative.eagle_topk=1", Axis(TOPK, (1,))),
        ("gpus=[0,1],[2,3]", Axis("gpus", ([0, 1], [2, 3]))),
        ('model_path="/a,b",/c', Axis("model_path", ("/a,b", "/c"))),
        ("disable_cuda_graph=true,1", Axis("disable_cuda_graph", (True, 1))),
        ("attention_backend=,fa3", Axis("attention_backend", (None, "fa3"))),
        ("probe.blocks=2", Axis("probe.blocks", (2,))),
    ],
)
def test_sets(text, axis):
    assert axes.set_axis(text) == axis


def test_variables_are_text_and_an_empty_one_is_unset():
    assert axes.env_axis("NCCL_PROTO=,LL, Simple") == Axis("env.NCCL_PROTO", (None, "LL", "Simple"))
    assert axes.env_axis("X=1") == Axis("env.X", ("1",))


def test_a_flag_alone_is_tried_off_and_on():
    assert axes.arg_axis("enable-mscclpp") == Axis("args.enable-mscclpp", (False, True))
    assert axes.arg_axis("--schedule-policy=lpm,fcfs") == Axis("args.schedule-policy", ("lpm", "fcfs"))


@pytest.mark.parametrize("text", ["HF_TOKEN=a,b", "MY_API_KEY=sk-1"])
def test_a_secret_has_no_place_in_a_sweep(text):
    with pytest.raises(UsageError, match="secret"):
        axes.env_axis(text)
    with pytest.raises(UsageError, match="secret"):
        axes.set_axis(f"secret_env.{text}")


def test_what_changes_nothing_of_a_server_is_not_swept():
    with pytest.raises(UsageError, match="not for sweeping"):
        axes.set_axis("probe.blocks=2,3")


def test_every_combination_with_the_last_axis_fastest():
    found = axes.combinations([Axis("a", (1, 2)), Axis("env.B", ("x", None))])
    assert [tuple(each.values()) for each in found] == [(1, "x"), (1, None), (2, "x"), (2, None)]


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ([], "nothing is swept"),
        ([Axis("a", (1,))], "nothing is swept"),
        ([Axis("a", (1, 2)), Axis("a", (3,))], "stands in two options"),
        ([Axis("a", tuple(range(30))), Axis("b", tuple(range(30)))], "900 points are too many"),
    ],
)
def test_axes_that_make_no_sweep(found, told):
    with pytest.raises(UsageError, match=told):
        axes.combinations(found)


def test_with_topk_1_the_draft_tokens_go_with_the_steps():
    assert axes.coherent({STEPS: 2}, TOPK_1) == {STEPS: 2, DRAFT_TOKENS: 3}
    assert axes.coherent({STEPS: 2, TOPK: 1}, TOPK_4) == {STEPS: 2, TOPK: 1, DRAFT_TOKENS: 3}
    assert axes.coherent({STEPS: 2, DRAFT_TOKENS: 3}, TOPK_1) == {STEPS: 2, DRAFT_TOKENS: 3}
    assert axes.coherent({"env.X": "1"}, TOPK_1) == {"env.X": "1"}
    assert axes.coherent({STEPS: 2}, None) == {STEPS: 2}


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({STEPS: 2, DRAFT_TOKENS: 6}, "2 steps make 3 draft tokens"),
        ({DRAFT_TOKENS: 4}, "5 steps make 6 draft tokens"),
    ],
)
def test_draft_tokens_that_sglang_would_change(values, told):
    with pytest.raises(UsageError, match=told):
        axes.coherent(values, TOPK_1)


def test_a_tree_has_only_so_many_candidates():
    assert axes.coherent({STEPS: 2}, TOPK_4) == {STEPS: 2}, "4 + 16 candidates hold the 7 that are wanted"
    with pytest.raises(UsageError, match="1 steps with topk 4 draft at most 5 tokens, and 8 are asked for"):
        axes.coherent({STEPS: 1}, TOPK_4)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)


@settings(deadline=None)
@given(JSON)
def test_what_a_point_sets_is_what_the_profile_reads(value):
    (word,) = axes.set_words({"args.x": value}, {})
    assert parse_set(word).value == value


@settings(deadline=None)
@given(st.text(max_size=40))
def test_hostile_options_are_read_or_refused(text):
    for read in (axes.steps_axis, axes.set_axis, axes.env_axis, axes.arg_axis):
        with contextlib.suppress(UsageError):
            assert read(text).values
