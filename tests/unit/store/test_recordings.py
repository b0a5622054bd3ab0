"""A recording as a file: private, never over another, ended by a full disk and not the other way round."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from console.errors import Refused, UsageError
from console.state import events
from console.state.model import ConsoleState
from console.state.update import fold
from console.store import recordings
from console.store.recordings import Recorder, Recording
from tests.tui.events import busy
from tests.unit.state.replayed import content

FACTS = {"node": "n", "simulated": True}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "story.jsonl"


class Clock:
    """Goes on by a second each time that it is asked."""

    def __init__(self):
        self.at = 100.0

    def __call__(self):
        self.at += 1.0
        return self.at


def record(path, told, **options):
    recorder = Recorder(path, FACTS, (), clock=Clock(), **options)
    for event in told:
        recorder.take([event])
    recorder.close()
    return recorder


def test_it_is_private_and_replays_to_the_state_that_was_recorded(path):
    told = list(busy())
    record(path, told)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    recording = Recording(path)
    assert recording.header["node"] == "n"
    times, again = zip(*recording.events(), strict=True)
    assert content(fold(ConsoleState(), again)) == content(fold(ConsoleState(), told))
    assert list(times) == sorted(times)
    assert times[0] > 0
    assert (recording.ended, recording.is_whole) == ("whole", True)
    assert recording.byte == path.stat().st_size


def test_nothing_is_written_over_unless_that_is_asked_for(path):
    path.write_text("something else")
    with pytest.raises(Refused, match="there already") as caught:
        Recorder(path, FACTS, ())
    assert "--record-over" in caught.value.hint
    assert path.read_text() == "something else"
    record(path, [events.ActionSaid("x")], overwrite=True)
    assert Recording(path).header["node"] == "n"
    path.chmod(0o644)
    record(path, [], overwrite=True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_link_is_not_followed(path, tmp_path):
    (tmp_path / "target").write_text("kept")
    path.symlink_to(tmp_path / "target")
    for overwrite in (False, True):
        with pytest.raises((Refused, UsageError)):
            Recorder(path, FACTS, (), overwrite=overwrite)
    assert (tmp_path / "target").read_text() == "kept"


def test_a_place_that_cannot_be_written_is_said(tmp_path):
    with pytest.raises(UsageError, match="cannot be written"):
        Recorder(tmp_path / "no" / "story.jsonl", FACTS, ())


def test_a_truncated_recording_is_replayed_as_far_as_it_is_whole(path):
    record(path, busy())
    data = path.read_bytes()
    whole = len(list(Recording(path).events()))
    lines = data.splitlines(keepends=True)
    cut = len(b"".join(lines[:5])) + 7
    path.write_bytes(data[:cut])
    recording = Recording(path)
    assert 0 < len(list(recording.events())) < whole
    assert recording.ended == f"line 6 (byte {cut - 7:,}) is cut"
    assert not recording.is_whole


def test_a_recording_of_a_console_that_was_killed_has_no_end(path):
    record(path, busy())
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))
    recording = Recording(path)
    list(recording.events())
    assert recording.ended.startswith(f"line {len(lines)} (byte")
    assert "was ended" in recording.ended


def test_a_damaged_line_ends_it_and_is_named(path):
    record(path, busy())
    lines = path.read_bytes().splitlines(keepends=True)
    lines[3] = b'{"t": 1, "event": "LinkChanged", "data": {"name": 7}}\n'
    path.write_bytes(b"".join(lines))
    recording = Recording(path)
    assert len(list(recording.events())) == 2
    assert recording.ended.startswith("line 4 (byte ")
    assert "LinkChanged.name" in recording.ended


def test_events_of_another_version_are_named_and_the_rest_is_replayed(path):
    record(path, busy())
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2:2] = [b'{"t": 1, "event": "TeaMade", "data": {}}\n'] * 2
    path.write_bytes(b"".join(lines))
    recording = Recording(path)
    assert list(recording.events())
    assert recording.unknown == {"TeaMade": 2}
    assert "TeaMade ×2" in recording.ended
    assert not recording.is_whole


def test_a_line_without_end_is_not_read_whole(path, monkeypatch):
    monkeypatch.setattr(recordings, "LINE_LIMIT", 4000)
    record(path, [events.ActionSaid("x")])
    with path.open("ab") as file:
        file.write(b"[" * 100_000)
    text = path.read_bytes()
    path.write_bytes(text.replace(b'"end": true', b'"log": "anew"'))
    recording = Recording(path)
    list(recording.events())
    assert not recording.is_whole


@pytest.mark.parametrize(
    "data", [b"", b"text\n", b"{}\n", b"\x00" * 100, b'{"recording": "spec-console", "schema": 2}\n']
)
def test_what_is_no_recording_is_a_usage_error(path, data):
    path.write_bytes(data)
    with pytest.raises(UsageError):
        Recording(path)


def test_a_recording_that_is_not_there_is_a_usage_error(path):
    with pytest.raises(UsageError, match="cannot be read"):
        Recording(path)


def test_a_recording_does_not_grow_without_end(path, monkeypatch):
    monkeypatch.setattr(recordings, "BYTES_LIMIT", 2000)
    recorder = record(path, [events.ActionSaid("x" * 100)] * 50)
    assert "larger than allowed" in recorder.problem
    assert path.stat().st_size <= 2000
    recording = Recording(path)
    assert len(list(recording.events())) > 5
    assert not recording.is_whole


def test_only_a_file_is_written(tmp_path):
    with pytest.raises(UsageError, match="no file"):
        Recorder(Path(os.devnull), FACTS, (), overwrite=True)


def test_a_full_disk_ends_the_recording_and_not_the_console(path):
    recorder = Recorder(path, FACTS, ())
    recorder._file.close()
    recorder._file = open("/dev/full", "wb", buffering=0)  # noqa: SIM115 - the recorder closes it
    recorder.take([events.ActionSaid("x")])
    assert "cannot be written: No space left" in recorder.problem
    recorder.take([events.ActionSaid("x")])
    recorder.close()
