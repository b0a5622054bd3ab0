"""--record: what the stream folds meanwhile is in the file, and nothing that goes wrong with it stops the console."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from console.cli import main
from console.cli._record import NO_RECORD, Record, recorded
from console.errors import Refused
from console.state import events
from console.store import recordings
from console.store.recordings import Recording
from console.tui.stream import EventStream


@pytest.fixture
def stream():
    return EventStream(lambda _state: None)


def test_what_is_folded_meanwhile_is_recorded_without_the_secrets_of_the_environment(
    stream, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("MY_API_KEY", "known-secret-value")
    path = tmp_path / "story.jsonl"
    with recorded(stream, "demo", Record(path)):
        stream.put(events.ActionSaid("it is known-secret-value"))
        stream.flush()
    stream.put(events.ActionSaid("not meant"))
    stream.flush()
    recording = Recording(path)
    assert [event for _t, event in recording.events()] == [events.ActionSaid("it is ***")]
    assert (recording.is_whole, recording.header["simulated"]) == (True, True)
    assert recording.header["versions"]["spec-console"]
    assert f"recorded: {path}" in capsys.readouterr().err


def test_without_a_file_nothing_is_recorded(stream):
    with recorded(stream, "demo", NO_RECORD):
        assert stream.tap is None


def test_a_file_that_is_there_stops_it_before_anything_is_shown(stream, tmp_path):
    path = tmp_path / "story.jsonl"
    path.write_text("mine")
    with pytest.raises(Refused), recorded(stream, "demo", Record(path)):
        pytest.fail("the console was opened")
    with recorded(stream, "demo", Record(path, over=True)):
        pass
    assert Recording(path).header["node"] == "demo"


def test_a_recording_that_ends_before_its_time_is_said_once(stream, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(recordings, "BYTES_LIMIT", 600)
    with recorded(stream, "n", Record(tmp_path / "story.jsonl")):
        for _ in range(20):
            stream.put(events.ActionSaid("x" * 50))
            stream.flush()
        stream.flush()
    told = [notice.text for notice in stream.state.notices.recent]
    assert len(told) == 1
    assert "the recording ends here" in told[0]
    assert told[0] in capsys.readouterr().err


def test_the_demo_without_a_terminal_has_nothing_to_record(tmp_path):
    done = CliRunner().invoke(main, ("demo", "--record", str(tmp_path / "x")))
    assert done.exit_code == 2
    assert not (tmp_path / "x").exists()
