"""A recording replays to the identical state; what is damaged in it is an error that says where, and never another."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.logs.marks import Marks
from console.logs.window import LineWindow
from console.state import events, recorded_log
from console.state.codec import TEXT_LIMIT, DecodeError, decode, encode, field_types
from console.state.model import ConsoleState
from console.state.recorded_log import LogAgain, LogTap
from console.state.recording import EVENTS, LINE_LIMIT, SCHEMA, Reader, Writer
from console.state.update import fold, update
from tests.tui.events import Log, busy, sample
from tests.unit.state.replayed import content, read, written
from tests.unit.state.samples import run, telemetry

NOISE = "INFO ready\nWARNING: slow\nTraceback (most recent call last):\nValueError: no\n\xe9\n"


@pytest.mark.parametrize("name", sorted(EVENTS))
def test_every_event_can_be_recorded(name):
    assert field_types(EVENTS[name]).keys() >= set(EVENTS[name].__dataclass_fields__)


def test_a_busy_node_replays_to_the_identical_state():
    told = [*busy(Log(sample(NOISE))), events.Noticed("warn", "a \x1b[31m notice \udc80")]
    live = fold(ConsoleState(), told)
    again = fold(ConsoleState(), read(written(told)))
    assert content(again) == content(live)
    assert live.log.reading is not None
    assert live.log.reading.rows


def test_a_log_that_grows_is_replaced_and_floods_replays_row_by_row():
    log = Log(sample())
    writer, reader, live = Writer(), Reader(), ConsoleState()
    again, t = ConsoleState(), 0.0

    def happen(*told: events.Event) -> None:
        nonlocal live, again, t
        live = fold(live, told)
        for event in told:
            t += 3.0
            for line in writer.lines(t, event):
                row = reader.read(line.encode())
                again = update(again, row.event) if row.event else again

    happen(*log.events(run_id="r"))
    log.add(b"half a line, ")
    happen(*log.fed("r"))
    log.add(b"and its end\r\nnot UTF-8 \xff\xfe\n")
    happen(*log.fed("r"))
    assert content(again) == content(live)
    log.window.begin_anew("the file was truncated", 0, lost=100)
    log.marks.clear()
    log.offset = 0
    log.add(NOISE.encode())
    happen(*log.fed("r"))
    assert content(again) == content(live)
    assert any(row[3].startswith("the file was truncated") for row in content(again)[2])
    happen(events.LogOpened("other", "/o", {}, LineWindow(), Marks()), events.LogFailed("other", "no such file"))
    assert content(again) == content(live)


def test_of_a_flood_a_part_is_written_with_each_event_and_the_rest_at_the_end():
    log = Log()
    writer, reader = Writer(), Reader()
    told = list(log.events("r"))
    lines = [line for event in told for line in writer.lines(0.0, event)]
    for number in range(0, 3 * recorded_log.AT_ONCE // 10, 10_000):
        log.window.append(10 * number, b"".join(b"%09d\n" % each for each in range(number, number + 10_000)))
    fed = events.LogFed("r", log.window.version, log.window.end, log.window.end)
    first = list(writer.lines(1.0, fed))
    assert sum(map(len, first)) < 1.5 * recorded_log.AT_ONCE
    rest = [*writer.lines(2.0, events.ActionSaid("x")), *writer.end(3.0)]
    rows = [reader.read(line.encode()) for line in (*lines, *first, *rest)]
    again = fold(ConsoleState(), (row.event for row in rows if row.event))
    assert content(again) == content(fold(ConsoleState(), [*told, fed, events.ActionSaid("x")]))


def test_what_the_window_has_dropped_is_a_gap_that_is_seen():
    window = LineWindow(bytes_limit=100_000)
    tap, again = LogTap(window, Marks(), ()), LogAgain()
    window.append(0, b"first\n")
    rows = list(tap.grown())
    for number in range(0, 50_000, 1000):
        window.append(6 + 10 * number, b"".join(b"%09d\n" % each for each in range(number, number + 1000)))
    for row in (*rows, *tap.grown(None)):
        again.take(row)
    kept = [line for _row, line in again.window.lines(again.window.first_row, again.window.end_row)]
    assert kept[0].raw == b"first"
    assert "missing here" in kept[1].note
    assert (len(kept[2].raw), kept[-1].raw) == (9, b"000049999")
    assert again.window.end == window.end


def test_a_long_log_that_is_opened_at_its_tail_is_kept_from_there_on():
    window, told = LineWindow(), b"the tail\nof a long log\n"
    tap, again = LogTap(window, Marks(), ()), LogAgain()
    assert list(tap.grown()) == []
    window.append(9_000_000, told)
    for row in tap.grown():
        again.take(row)
    assert again.window.start == window.start == 9_000_000
    assert [line.raw for _row, line in again.window.lines(0, 9)] == told.splitlines()


def test_readings_of_a_log_are_kept_now_and_then_and_the_last_one_always():
    log = Log(sample())
    told = [*log.events("r"), *(list(log.fed("r"))[1] for _ in range(20))]
    assert sum(b'"LogFolded"' in line for line in written(told, every_s=0.1)) == 2
    assert content(fold(ConsoleState(), read(written(told, every_s=0.1)))) == content(fold(ConsoleState(), told))


def test_what_did_not_change_is_not_written_again():
    told = [events.InventoryRead(None, telemetry(0, 1), (), (run("r", "me"),), 0, reason) for reason in ("a", "b")]
    _header, first, second, _end = written(told)
    assert len(second) < len(first) / 2
    assert json.loads(second)["same"] == ["sample", "runs"] or "sample" in json.loads(second)["same"]


def test_secrets_are_masked_before_they_are_written():
    record = {"env": {"HF_TOKEN": "abcd1234"}, "api_key": "abcd1234", "told": "password=abcd1234"}
    log = Log(b"server_args=ServerArgs(api_key='abcd1234', port=1)\nthe key is known-secret-value\n")
    writer = Writer(known=("known-secret-value",))
    told = (*log.events("r", **record), events.ActionSaid("using known-secret-value"))
    text = "\n".join(line for event in told for line in writer.lines(0.0, event))
    assert "abcd1234" not in text
    assert "known-secret-value" not in text
    assert "port=1" in text


def test_a_text_is_bounded():
    (line,) = Writer().lines(0.0, events.ActionSaid("x" * (2 * LINE_LIMIT)))
    assert len(line) < TEXT_LIMIT + 200
    assert "characters cut" in line


@pytest.mark.parametrize(
    "header",
    [b"", b"{}", b"[]", b"nothing", b'{"recording": "other", "schema": 1}', b'{"recording": "spec-console"}'],
)
def test_what_is_no_recording_is_said_to_be_none(header):
    with pytest.raises(DecodeError):
        Reader().header(header)


def test_a_recording_of_another_schema_is_told_by_its_number():
    with pytest.raises(DecodeError, match=f"schema {SCHEMA + 1}"):
        Reader().header(json.dumps({"recording": "spec-console", "schema": SCHEMA + 1}).encode())


def test_an_event_of_another_version_is_named_and_left_out():
    row = Reader().read(b'{"t": 1.0, "event": "TeaMade", "data": {}}')
    assert (row.unknown, row.event) == ("TeaMade", None)
    replayed = Reader().read(b'{"t": 1.0, "event": "ReplayMoved", "data": {"source": "x", "at_s": 1.0}}')
    assert replayed.unknown == "ReplayMoved", "no recording says of itself that it is none"


def test_a_field_of_another_version_is_left_out_and_a_missing_one_is_an_error():
    row = Reader().read(b'{"t": 1, "event": "ActionSaid", "data": {"line": "x", "colour": 7}}')
    assert row.event == events.ActionSaid("x")
    with pytest.raises(DecodeError, match=r"ActionSaid\.line is missing"):
        Reader().read(b'{"t": 1, "event": "ActionSaid", "data": {}}')


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("nothing", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ("[]", "no JSON object"),
        ('{"event": "ActionSaid"}', "no time"),
        ('{"t": -1, "event": "ActionSaid"}', "no time"),
        ('{"t": true, "event": "ActionSaid"}', "no time"),
        ('{"t": 1}', "neither"),
        ('{"t": 1, "event": 7}', "neither"),
        ('{"t": 1, "event": "ActionSaid", "data": 7}', "no data"),
        ('{"t": 1, "event": "ActionSaid", "data": {"line": 7}}', "ActionSaid.line"),
        ('{"t": 1, "event": "ActionSaid", "data": {}, "same": ["line"]}', "not told before"),
        ('{"t": 1, "event": "ActionSaid", "data": {}, "same": 7}', "no data"),
        ('{"t": 1, "event": "Noticed", "data": {"severity": "loud", "text": ""}}', "Noticed.severity"),
        ('{"t": 1, "event": "Noticed", "data": {"severity": [], "text": ""}}', "Noticed.severity"),
        ('{"t": 1, "event": "TelemetrySampled", "data": {"sample": {"gpus": 7}}}', "TelemetrySampled.sample"),
        ('{"t": 1, "log": "bytes"}', "no offset"),
        ('{"t": 1, "log": "bytes", "offset": -1, "text": ""}', "no offset"),
        ('{"t": 1, "log": "bytes", "offset": 1e300, "text": ""}', "no offset"),
        ('{"t": 1, "log": "bytes", "offset": 0, "text": 7}', "no bytes"),
        ('{"t": 1, "log": "bytes", "offset": 0, "base64": "?"}', "no bytes"),
        ('{"t": 1, "log": "marks", "kind": "tea", "offsets": []}', "no marks"),
        ('{"t": 1, "log": "marks", "kind": "error", "offsets": [-1]}', "no offset"),
        ('{"t": 1, "log": 7}', "no row"),
    ],
)
def test_a_damaged_line_says_what_is_wrong(line, says):
    with pytest.raises(DecodeError, match=says):
        Reader().read(line.encode())


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
LINES = [json.loads(line) for line in written(busy())[1:]]


@given(st.sampled_from(LINES), st.data())
def test_a_line_that_anybody_changed_is_read_or_is_a_decode_error(line, data):
    """Any part of a true line is replaced by any JSON."""
    changed = json.loads(json.dumps(line))
    place = changed
    for _depth in range(data.draw(st.integers(0, 4))):
        inner = [value for value in (place.values() if isinstance(place, dict) else place) if value]
        inner = [value for value in inner if isinstance(value, (dict, list))]
        if inner:
            place = data.draw(st.sampled_from(inner))
    if place:
        keys = sorted(place) if isinstance(place, dict) else range(len(place))
        place[data.draw(st.sampled_from(keys))] = data.draw(_JSON)
    try:
        Reader().read(json.dumps(changed).encode())
    except (DecodeError, OverflowError):
        return


@given(st.binary(max_size=200))
def test_bytes_that_are_no_line_are_a_decode_error(line):
    with pytest.raises(DecodeError):
        Reader().read(line)


@given(st.floats())
def test_any_number_comes_back(value):
    back = decode(float, json.loads(json.dumps(encode(value, str), allow_nan=False)), "x")
    assert back == value or (back != back and value != value)


def test_bytes_come_back():
    assert decode(bytes, encode(b"\x00\xff", str), "x") == b"\x00\xff"
    with pytest.raises(DecodeError, match="no base64"):
        decode(bytes, "?", "x")
