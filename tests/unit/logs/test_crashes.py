"""Exceptions grouped by their final error; ranks are named, never guessed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.logs.crashes import GROUPS_LIMIT, Crash
from tests.unit.logs.samples import history, told

ERROR = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (6x28672 and 21504x7168)"
FRAME = '  File "/opt/sglang/python/sglang/srt/models/llama_eagle3.py", line {}, in forward\n    hidden = self.fc(x)\n'


def announced(rank: int) -> str:
    return f"[2026-01-05 10:00:00 TP{rank}] Scheduler hit an exception: Traceback (most recent call last):\n"


def only(text: str) -> Crash:
    (crash,) = told(text).crashes.groups()
    return crash


def test_equal_final_errors_of_eight_interleaved_ranks_are_one():
    text = "".join(announced(rank) + FRAME.format(rank) for rank in range(8)) + f"{ERROR}\n\n" * 8
    crash = only(text)
    assert (crash.count, crash.label, crash.name) == (8, "x8 (TP0..TP7)", "RuntimeError")
    assert crash.offset == text.index(ERROR)
    assert crash.frames == ()  # eight tracebacks are mixed: whose frames they are nobody knows


def test_the_field_s_two_interleaved_tracebacks():
    (crash,) = history("cases/D08-interleaved.log").crashes.groups()
    assert (crash.label, crash.sentence) == ("x2 (TP3, TP5)", ERROR)


def test_tracebacks_one_after_the_other_keep_rank_and_frames():
    crash = only("".join(announced(rank) + FRAME.format(9) + ERROR + "\n\n" for rank in (0, 2)))
    assert (crash.label, crash.frames) == ("x2 (TP0, TP2)", ("/opt/sglang/python/sglang/srt/models/llama_eagle3.py:9",))


def test_ranks_that_had_different_errors_are_not_guessed():
    crashes = told(announced(0) + announced(1) + f"{ERROR}\nValueError: other\n").crashes.groups()
    assert [(one.name, one.ranks, one.label) for one in crashes] == [("RuntimeError", (), ""), ("ValueError", (), "")]


def test_a_rank_that_announced_and_told_no_error_leaves_the_others_unnamed():
    assert only(announced(0) + announced(1) + announced(2) + f"{ERROR}\n{ERROR}\n").label == "x2"


def test_a_line_that_names_its_rank_is_believed():
    assert only(f"[rank4]: {ERROR}\n").label == "TP4"


def test_the_first_cause_stands_on_top():
    (crash,) = history("h200/tp2-draft-missing.log").crashes.groups()
    assert crash.name == "OSError"
    assert crash.first.startswith("huggingface_hub.errors.HFValidationError: Repo id must be in the form")
    assert len(crash.causes) == 1
    log = history("h200/tp2-draft-missing.log").records
    assert next(one.text for one in log if one.offset == crash.offset).startswith("huggingface_hub.errors.HF")


def test_a_chain_of_three_keeps_its_rank():
    link = (
        "\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n"
    )
    crash = only(announced(3) + f"KeyError: 'a'{link}ValueError: b{link}RuntimeError: c\n")
    assert (crash.sentence, crash.causes, crash.label) == ("RuntimeError: c", ("KeyError: 'a'", "ValueError: b"), "TP3")


def test_out_of_memory_on_every_gpu_is_one_error():
    said = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 448.00 MiB. GPU {} has {}.5 MiB free.\n"
    assert only("".join(announced(rank) + said.format(rank, rank) for rank in range(4))).label == "x4 (TP0..TP3)"


def test_another_launch_in_the_file_forgets_the_last_one_s():
    text = announced(0) + ERROR + "\n[2026-01-05 10:00:01] Received sigquit from a child process. It usually means\n"
    assert told(text + "[2026-01-05 10:00:09] server_args=ServerArgs(tp_size=8)\n").crashes.groups() == ()


@pytest.mark.parametrize(
    ("name", "label", "frames"),
    [("tp2-four-captures", "x2 (TP0, TP1)", 19), ("tp2-scheduler-killed", "TP0", 9), ("tp1-crash-jit-build", "", 10)],
)
def test_real_deaths(name: str, label: str, frames: int):
    (crash,) = history(f"h200/{name}.log").crashes.groups()
    assert (crash.label, len(crash.frames)) == (label, frames)


def test_a_flood_of_different_errors_is_bounded_and_counted():
    kept = told("".join(f"ValueError: {n}\n" for n in range(GROUPS_LIMIT + 3)))
    assert len(kept.crashes.groups()) == GROUPS_LIMIT
    assert kept.crashes.left_out == 3


PIECES = st.sampled_from(
    [
        *(announced(0), announced(1), FRAME.format(1), ERROR + "\n", "ValueError: x\n", "[rank2]: ValueError: x\n"),
        *("\n", "Traceback (most recent call last):\n", "server_args=ServerArgs(tp_size=2)\n"),
        "During handling of the above exception, another exception occurred:\n",
    ]
)


@given(st.lists(PIECES, max_size=40).map("".join))
def test_any_mixture_adds_up(text: str):
    for crash in told(text).crashes.groups():
        assert crash.count >= max(1, len(crash.ranks))
        assert crash.offset <= crash.offsets[0]
