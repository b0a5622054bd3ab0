from __future__ import annotations

import json

import pytest

from console.errors import UsageError
from console.logs.history import LogHistory
from console.logs.search_pattern import SearchPattern, parse
from console.logs.selection import Selection, Sieve, first_time, merged, point_in_time, seconds_ago
from console.logs.split import LineSplitter, RawLine


def records(text: str):
    return LogHistory().feed(0, text.encode())


def test_case_is_ignored_until_a_capital_is_typed() -> None:
    assert parse("error").matches("An ERROR")
    assert not parse("Error").matches("An ERROR")
    assert parse("\\Sx").ignore_case, "an escape is no capital"
    assert parse("A.C", regex=False) == SearchPattern("A.C", regex=False)
    assert not parse("A.C", regex=False).matches("ABC")


def test_a_mark_or_an_option_inverts_and_both_do_not() -> None:
    assert parse("!x").matches("y")
    assert parse("x", inverse=True).matches("y")
    assert parse("!x", inverse=True).matches("x")


@pytest.mark.parametrize("typed", ["", "!", "(a", "a\nb", "*"])
def test_what_is_no_pattern_is_told(typed) -> None:
    with pytest.raises(UsageError):
        parse(typed)


def test_a_record_without_a_time_has_that_of_the_one_before() -> None:
    log = records("early\n[2026-02-20 10:00:01 TP0] a\n  more\n[2026-02-20 10:00:03 TP1] b\n  rest\n")

    def taken(**wanted):
        return [record.text for _ts, record in Sieve(Selection(**wanted)).take(log)]

    assert taken() == [record.text for record in log]
    assert taken(since="2026-02-20 10:00:02") == ["[2026-02-20 10:00:03 TP1] b", "  rest"]
    assert taken(ranks=frozenset({1})) == ["early", "  more", "[2026-02-20 10:00:03 TP1] b", "  rest"]
    assert taken(pattern=parse("!o|s")) == ["early", "[2026-02-20 10:00:01 TP0] a", "[2026-02-20 10:00:03 TP1] b"]
    assert taken(kinds=frozenset({"decode_batch"})) == []


def test_logs_are_merged_by_time_and_keep_their_own_order() -> None:
    one = [("10", "a"), ("12", "b"), ("11", "the clock went back"), ("14", "c")]
    two = [("", "before any time"), ("11", "x"), ("13", "y")]
    told = [text for _label, text in merged([("one", one), ("two", two)])]
    assert told == ["before any time", "a", "x", "b", "the clock went back", "y", "c"]


def test_times() -> None:
    assert (seconds_ago("10m"), seconds_ago("90s"), seconds_ago("1d"), seconds_ago("10")) == (600, 90, 86_400, None)
    assert point_in_time("2026-02-20T10:02") == "2026-02-20 10:02:00"
    assert point_in_time("2026-02-20") == "2026-02-20 00:00:00"
    with pytest.raises(UsageError):
        point_in_time("yesterday")
    assert first_time(b"0:01] half a line\nTraceback\n[2026-02-20 10:00:01 TP0] a\n") == "2026-02-20 10:00:01"
    assert first_time(b"nothing") == ""


def test_docker_json_is_text_at_the_place_of_its_line() -> None:
    def line(text: str) -> bytes:
        return json.dumps({"log": text, "stream": "stdout"}, separators=(",", ":")).encode() + b"\n"

    first, second, third, bars = line("one\n"), line("a long "), line("line \x1b[1m\u00e9\n"), line("1%\r2%\r\n")
    data = first + second + third + bars + b'{"log":"no json\n' + line("half")
    for size in (1, 7, len(data)):
        splitter = LineSplitter()
        lines = [raw for at in range(0, len(data), size) for raw in splitter.feed(at, data[at : at + size])]
        assert [raw.text for raw in lines] == ["one", "a long line \u00e9", "1%", "2%", '{"log":"no json']
        assert lines[0] == RawLine(0, len(first) - 1, "one")
        assert lines[1].offset == len(first) + len(second)
        assert lines[2].offset == lines[3].offset == len(first + second + third)
        assert [raw.text for raw in splitter.finish()] == ["half"]


def test_a_gap_is_a_record_with_its_size() -> None:
    history = LogHistory()
    history.feed(0, b"one\n")
    (gap,) = history.reset(0, "the file was truncated", 1204)
    assert (gap.kind, gap.fields["lost_bytes"]) == ("log_gap", 1204)
    assert "1,204 bytes are lost" in gap.text
    assert history.counts["unclaimed"] == 1
