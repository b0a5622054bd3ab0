"""Which lines are chosen: by pattern, by rank, eight equal ones as one; and places that one goes to."""

from __future__ import annotations

import pytest

from console.errors import UsageError
from console.logs.choice import Choice, ChosenRows, parse_ranks, rank_of
from console.logs.history import LogHistory
from console.logs.marks import MarkFold, Marks
from console.logs.window import Line, LineWindow

DEBUG = (
    b"[EAGLE3_DEBUG] site=draft.fc_in rank=%d model=M mode=TARGET_VERIFY seq=%d shape=(6,%d) dtype=bfloat16 "
    b"device=cuda:%d\n"
)
DECODE = (
    b"[2026-02-20 10:02:%02d TP0] Decode batch, #running-req: 1, #token: 5, gen throughput (token/s): %.1f, "
    b"#queue-req: 0\n"
)


def window(data: bytes) -> LineWindow:
    made = LineWindow()
    made.append(0, data)
    return made


def chosen(data: bytes, choice: Choice, marks: Marks | None = None) -> list[str]:
    rows, log = ChosenRows(choice), window(data)
    while rows.take(log, 3, log.end_row, marks or Marks()):
        pass
    return [line.text for line in rows.lines()]


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("error", ["an error", "An Error"]),
        ("Error", ["An Error"]),
        ("!error", ["all is well 12"]),
        (r"\d\d$", ["all is well 12"]),
        (r"!\d\d$", ["an error", "An Error"]),
    ],
)
def test_a_pattern_is_a_regular_expression_in_smart_case(typed: str, kept: list[str]) -> None:
    assert chosen(b"an error\nAn Error\nall is well 12\n", Choice(typed)) == kept


@pytest.mark.parametrize("typed", ["(", "[", "*x"])
def test_what_is_no_pattern_is_told(typed: str) -> None:
    with pytest.raises(UsageError, match="no regular expression"):
        ChosenRows(Choice(typed))


@pytest.mark.parametrize(("typed", "ranks"), [("", set()), ("0", {0}), ("0,2-4", {0, 2, 3, 4}), (" 1 , 7 ", {1, 7})])
def test_a_list_of_ranks(typed: str, ranks: set[int]) -> None:
    assert parse_ranks(typed) == ranks


@pytest.mark.parametrize("typed", ["x", "1-", "-1", "99999", "1..2"])
def test_what_is_no_rank_is_told(typed: str) -> None:
    with pytest.raises(UsageError, match="is no rank"):
        parse_ranks(typed)


@pytest.mark.parametrize(
    ("line", "rank"),
    [
        (b"[2026-02-20 10:02:11 DP0 TP3] x", 3),
        (b"[EAGLE3_DEBUG] site=a rank=7 model=b", 7),
        (b"[rank1]: Traceback", 1),
        (b"HTTP 1 franking=3", None),
    ],
)
def test_the_rank_that_a_line_names(line: bytes, rank: int | None) -> None:
    assert rank_of(line) == rank


def test_hidden_ranks_are_left_out_and_lines_without_a_rank_stay():
    data = b"[2026-02-20 10:02:11 TP0] a\n[2026-02-20 10:02:11 TP1] b\nno rank\n"
    assert chosen(data, Choice(ranks=frozenset({1}))) == ["[2026-02-20 10:02:11 TP1] b", "no rank"]


def test_equal_lines_of_eight_ranks_are_one_and_a_rank_that_differs_is_another():
    data = b"".join(DEBUG % (rank, seq, 21504, rank) for seq in range(2) for rank in range(8))
    data += DEBUG % (3, 2, 28672, 3)
    rows, log = ChosenRows(Choice(collapse=True)), window(data)
    rows.take(log, 1000, log.end_row, Marks())
    entries = [rows.entry(row) for row in range(rows.first_row, rows.end_row)]
    assert [(entry.count, entry.ranks == set(range(8))) for entry in entries] == [(8, True), (8, True), (1, False)]


def test_earlier_matches_stand_before_and_keep_the_rows_of_later_ones():
    rows, log = ChosenRows(Choice("x")), window(b"x1\ny\nx2\n")
    rows.take(log, 1000, log.end_row, Marks())
    assert rows.line(1).text == "x2"
    rows.found((Line(0, 50, b"x0"), Line(0, 40, b"x-1")))
    assert rows.line(1).text == "x2"
    assert [line.text for line in rows.lines()] == ["x-1", "x0", "x1", "x2"]


def marked(data: bytes) -> tuple[Marks, bytes]:
    marks = Marks()
    marks.add(MarkFold().fold(history := LogHistory(8), history.feed(0, data)))
    return marks, data


def places(marks: Marks, data: bytes, kind: str) -> list[bytes]:
    return [data[at:].split(b"\n")[0] for at in marks[kind]]  # type: ignore[index]


def test_errors_are_found_and_a_traceback_is_one():
    marks, data = marked(
        b'fine\nTraceback (most recent call last):\n  File "a.py", line 1, in f\n    x\nValueError: no\n'
        b"[2026-02-20 10:02:11] ERROR: another\n"
    )
    assert places(marks, data, "error") == [
        b"Traceback (most recent call last):",
        b"[2026-02-20 10:02:11] ERROR: another",
    ]


def test_warnings_are_found():
    marks, data = marked(b"fine\n[2026-02-20 10:02:11] WARNING: mind\nx.py:1: UserWarning: this\nnothing\n")
    assert places(marks, data, "warning") == [
        b"[2026-02-20 10:02:11] WARNING: mind",
        b"x.py:1: UserWarning: this",
    ]


def test_a_change_of_a_shape_is_found_and_the_next_and_the_one_before_it():
    data = b"".join(DEBUG % (rank, 0, 21504, rank) for rank in range(8))
    at = len(data)
    data += DEBUG % (0, 1, 28672, 0) + DEBUG % (1, 1, 21504, 1)
    marks = Marks()
    history, fold = LogHistory(8), MarkFold()
    marks.add(fold.fold(history, history.feed(0, data[:at])))
    marks.add(fold.fold(history, history.feed(at, data[at:])))
    assert marks.next("shape", at - 1) == at
    assert marks.next("shape", at + 1) is None
    assert marks.next("shape", len(data), backward=True) == at


def test_a_slow_down_is_a_window_well_below_those_before_it():
    speeds = [5.0, 100, 101, 99, 100, 98, 60, 100, 97]
    marks, data = marked(b"".join(DECODE % (number, speed) for number, speed in enumerate(speeds)))
    assert [b"60.0" in place for place in places(marks, data, "slow")] == [True]


def test_lines_that_no_parser_knows_are_chosen_by_their_marks():
    marks, data = marked(DECODE % (1, 9.9) + b"what is this\n")
    assert chosen(data, Choice(unclaimed=True), marks) == ["what is this"]


def test_marks_are_forgotten_when_the_file_is_another():
    marks, _data = marked(b"ValueError: no\n")
    assert marks.next("error", -1) == 0
    marks.clear()
    assert marks.next("error", -1) is None
