"""The window of a log: the same lines as the splitter's in whatever pieces they come, found by row and by offset."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.logs import window as module
from console.logs.split import LineSplitter
from console.logs.window import LineWindow

LOGS = st.lists(st.sampled_from([b"a", b"bcd", b"\n", b"\r", b"\r\n", b"\x00", b"\xff", b"\x1b[31m"]), max_size=60).map(
    lambda parts: b"".join(parts) + b"\n"
)


def fed(data: bytes, sizes: list[int], offset: int = 0) -> LineWindow:
    window, at = LineWindow(), 0
    for size in (*sizes, len(data)):
        window.append(offset + at, data[at : at + size])
        at += size
        if at >= len(data):
            break
    return window


def lines(window: LineWindow) -> list[tuple[int, str]]:
    return [(line.offset, line.text) for _row, line in window.lines(window.first_row, window.end_row)]


@given(LOGS, st.lists(st.integers(1, 9), max_size=80))
def test_its_lines_are_the_splitters_in_whatever_pieces_they_come(data: bytes, sizes: list[int]) -> None:
    expected = [(line.offset, line.text) for line in LineSplitter().feed(0, data)]
    assert lines(fed(data, sizes)) == expected


@given(LOGS, st.data())
def test_what_lies_before_is_put_in_front_with_its_own_rows(data: bytes, draw: st.DataObject) -> None:
    whole = fed(data, [])
    row = draw.draw(st.integers(0, max(0, len(whole) - 1)))
    cut = whole.line(row).offset if len(whole) else 0
    later = fed(data[cut:], [], cut)
    kept = dict(later.lines(later.first_row, later.end_row))
    later.prepend(0, data[:cut])
    assert lines(later) == lines(whole)
    assert all(later.line(at) == line for at, line in kept.items()), "rows keep their numbers"


@given(LOGS, st.integers(0, 200))
def test_a_byte_is_found_in_its_line(data: bytes, offset: int) -> None:
    window = fed(data, [])
    row = window.row_at(offset)
    if row is None:
        assert offset < window.start or offset >= window.end
    else:
        line = window.line(row)
        assert line.offset <= offset or data[offset : offset + 1] == b"\r"


@given(LOGS, st.lists(st.integers(1, 9), max_size=80), st.integers(0, 100), st.integers(1, 50))
def test_the_bytes_of_whole_lines_can_be_had_again(data: bytes, sizes: list[int], at: int, limit: int) -> None:
    window = fed(data, sizes)
    begin, read = window.read(0, at, limit)
    assert data[begin : begin + len(read)] == read
    if at < window.end:
        assert read


def test_a_line_before_its_beginning_is_known_is_left_out():
    window = fed(b"three\n", [], 100)
    window.prepend(90, b"f one\ntwo\n")
    assert lines(window) == [(96, "two"), (100, "three")]


def test_a_gap_is_a_line():
    window = fed(b"one\nhal", [])
    window.append(3000, b"late\n")
    assert [text for _offset, text in lines(window)] == ["one", "hal", "2.9 KiB of the file are missing here", "late"]
    assert window.read(0, 0, 1000) == (0, b"one\nhal")
    assert window.read(0, 7, 1000) == (3000, b"late\n")


def test_a_file_that_begins_anew_is_a_line_and_its_offsets_mean_the_new_file():
    window = fed(b"one\ntwo\n", [])
    window.begin_anew("the file was truncated", 0, 1204)
    window.append(0, b"new\n")
    texts = [text for _offset, text in lines(window)]
    assert texts == ["one", "two", "the file was truncated; 1.2 KiB were lost: read on from byte 0", "new"]
    assert window.row_at(0) == 3
    assert window.row_at(0, epoch=0) == 0
    assert window.read(0, 4, 99) == (4, b"two\n")
    assert window.read(1, 0, 99) == (0, b"new\n")


def test_bytes_that_were_seen_are_skipped():
    window = fed(b"one\ntwo\n", [])
    window.append(4, b"two\nthree\n")
    assert [text for _offset, text in lines(window)] == ["one", "two", "three"]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_of_a_line_of_a_megabyte_the_beginning_is_kept_and_its_length_known(end: bytes) -> None:
    data = b"before\n" + b"y" * 1_000_000 + end + b"after\n"
    window = fed(data, [65_000] * 20)
    row = window.first_row + 1
    line = window.line(row)
    assert line.length == 1_000_000
    assert line.is_cut
    assert len(line.text) == module.TEXT_LIMIT
    assert window.line(row + 1).text == "after"
    assert window.line(row + 1).offset == 7 + 1_000_000 + len(end)
    begin, read = window.read(0, 0, 2_000_000)
    assert (begin, len(read)) == (0, len(data))
    assert [each.length for each in LineSplitter().feed(0, read)] == [6, 1_000_000, 5]


def test_the_oldest_lines_go_and_a_copy_keeps_them():
    window = LineWindow(bytes_limit=200_000)
    copy = window
    for number in range(30_000):
        window.append(number * 12, b"line %06d\n" % number)
        if number == 5000:
            copy = window.copy()
    assert window.first_row > 5000
    assert window.line(window.end_row - 1).text == "line 029999"
    with pytest.raises(IndexError):
        window.line(0)
    assert copy.line(0).text == "line 000000"
    assert copy.end_row == 5001


def test_a_held_window_that_grows_at_its_front_lets_its_end_go():
    window = LineWindow(bytes_limit=3 * module.BLOCK_BYTES)
    data = b"".join(b"line %06d\n" % number for number in range(40_000))
    begin = 36_000 * 12
    window.append(begin, data[begin:])
    while window.start:
        first = max(0, window.start - module.BLOCK_BYTES)
        window.prepend(first, data[first : window.start])
    assert window.line(window.first_row).text == "line 000000"
    assert window.end < len(data)
    end = window.end
    window.append(end, data[end : end + 24])
    assert window.line(window.end_row - 1).offset == end + 12
