"""Bytes to lines: the same lines in whatever chunks the bytes come."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.logs.split import GAP, TEXT_LIMIT, LineSplitter, RawLine
from tests.unit.logs.samples import LOGS, lines

PIECES = st.lists(
    st.sampled_from(
        [
            b"a",
            b"\n",
            b"\r",
            b"\r\n",
            b"\x1b[31m",
            b"\x1b[",
            b"\x1b]0;t\x07",
            b"\xe2\x96\x88",
            b"\xff",
            b"\0",
            b"[bold]",
        ]
    )
).map(b"".join)


def fed(data: bytes, cuts: list[int], text_limit: int = TEXT_LIMIT) -> list[RawLine]:
    splitter = LineSplitter(text_limit)
    borders = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    found = [line for begin, end in itertools.pairwise(borders) for line in splitter.feed(begin, data[begin:end])]
    return found + splitter.finish()


@given(PIECES, st.lists(st.integers(min_value=0)), st.sampled_from([3, TEXT_LIMIT]))
def test_any_cut_gives_the_same_lines(data: bytes, cuts: list[int], text_limit: int) -> None:
    assert fed(data, cuts, text_limit) == fed(data, [], text_limit)


@given(PIECES)
def test_offset_and_length_say_where_a_line_lies(data: bytes) -> None:
    for line in fed(data, []):
        stretch = data[line.offset : line.offset + line.length]
        assert len(stretch) == line.length
        assert b"\n" not in stretch
        assert b"\r" not in stretch
        after = data[line.offset + line.length :]
        assert after.startswith(line.end.encode()) or (line.end == "\n" and after.startswith(b"\r\n"))


@given(PIECES)
def test_no_byte_but_line_ends_lies_outside_of_the_lines(data: bytes) -> None:
    covered = bytearray(data)
    for line in fed(data, []):
        covered[line.offset : line.offset + line.length] = b"\n" * line.length
    assert not covered.strip(b"\r\n")


def test_a_bar_is_redrawn_after_cr_and_crlf_is_one_end() -> None:
    assert [(line.text, line.end) for line in lines(b"\r  0%|\r100%|\ndos\r\n\nhalf")] == [
        ("  0%|", "\r"),
        ("100%|", "\n"),
        ("dos", "\n"),
        ("", "\n"),
        ("half", ""),
    ]


def test_a_half_line_waits_until_it_is_whole() -> None:
    splitter = LineSplitter()
    assert splitter.feed(10, b"Load wei") == []
    assert splitter.feed(18, b"ght\nnext") == [RawLine(10, 11, "Load weight")]
    assert splitter.finish() == [RawLine(22, 4, "next", "")]
    assert splitter.finish() == []


def test_escapes_and_controls_go_and_the_text_stays() -> None:
    raw = b"\x1b[36m(Worker pid=1)\x1b[0m a\x00b\x07c\x1b(Bd \x1b]8;;http://x\x1b\\e\x9b31m tab\there"
    assert lines(raw)[0].text == "(Worker pid=1) abcd e\ufffd31m tab\there"


def test_an_open_escape_string_hides_nothing() -> None:
    assert lines(b"\x1b]0;never closed: RuntimeError").pop().text == "0;never closed: RuntimeError"


def test_invalid_utf8_is_replaced_and_the_line_kept() -> None:
    assert lines(b"ok \xff\xfe \xe2\x96 end\n")[0].text == "ok \ufffd\ufffd \ufffd end"


def test_a_character_across_chunks_is_one_character() -> None:
    splitter = LineSplitter()
    bar = "█".encode()
    assert splitter.feed(0, bar[:1]) == []
    assert splitter.feed(1, bar[1:] + b"\n")[0].text == "█"


def test_a_megabyte_line_is_cut_for_display_and_its_length_told() -> None:
    data = b"x" * 1_000_000 + b"\nshort\n"
    splitter = LineSplitter()
    found = [line for at in range(0, len(data), 100) for line in splitter.feed(at, data[at : at + 100])]
    assert [(line.length, len(line.text), line.cut) for line in found] == [(1_000_000, TEXT_LIMIT, True), (5, 5, False)]


def test_a_cut_never_leaves_half_a_character() -> None:
    splitter = LineSplitter(text_limit=4)
    (line,) = splitter.feed(0, "██\n".encode())
    assert (line.text, line.length, line.cut) == ("█", 6, True)


def test_a_hole_of_zeros_does_not_push_the_text_out() -> None:
    (line,) = lines(b"\0" * (2 * TEXT_LIMIT) + b"Load weight begin.\n")
    assert (line.text, line.length, line.cut) == ("Load weight begin.", 2 * TEXT_LIMIT + 18, False)


def test_bytes_seen_before_are_skipped() -> None:
    splitter = LineSplitter()
    splitter.feed(0, b"one\ntw")
    assert splitter.feed(0, b"one\n") == []
    assert splitter.feed(2, b"e\ntwo\n") == [RawLine(4, 3, "two")]
    assert splitter.missed_bytes == 0


def test_a_gap_ends_the_half_line_and_is_counted() -> None:
    splitter = LineSplitter()
    splitter.feed(0, b"half")
    gap = RawLine(100, 96, "the log goes on further down; 96 bytes are lost", GAP)
    assert splitter.feed(100, b"next\n") == [RawLine(0, 4, "half", ""), gap, RawLine(100, 4, "next")]
    assert splitter.missed_bytes == 96


def test_after_a_reset_low_offsets_are_new() -> None:
    splitter = LineSplitter()
    splitter.feed(500, b"old half")
    assert splitter.reset(0) == [RawLine(500, 8, "old half", "")]
    assert splitter.feed(0, b"new\n") == [RawLine(0, 3, "new")]
    assert splitter.reset(0, "cut by\x1b x", 1204) == [RawLine(0, 1204, "cut by x; 1,204 bytes are lost", GAP)]


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name)
def test_small_chunks_of_a_real_log_give_the_lines_of_the_whole(path: object) -> None:
    data = path.read_bytes()[:60_000]  # type: ignore[attr-defined]
    assert fed(data, list(range(0, len(data), 61))) == fed(data, [])
