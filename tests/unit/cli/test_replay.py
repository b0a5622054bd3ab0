"""`replay` without a terminal: the last state in words, and where a recording ends that is not whole."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from console.cli import main
from console.store.recordings import Recorder
from tests.tui.events import busy


@pytest.fixture
def story(tmp_path):
    path = tmp_path / "story.jsonl"
    recorder = Recorder(path, {"node": "gpu-node-1", "simulated": False}, ())
    recorder.take(list(busy()))
    recorder.close()
    return path


def replay(*words):
    done = CliRunner().invoke(main, ("replay", *map(str, words)))
    return done.exit_code, done.stdout


def test_the_last_state_is_told_as_one_object(story):
    code, text = replay(story, "--json")
    told = json.loads(text)
    assert (code, told["schema"], told["ok"], told["whole"]) == (0, "spec-console/replay/1", True, True)
    state = told["state"]
    assert state["node"] == "gpu-node-1"
    assert state["verdict"] == "withheld"
    assert state["gpus"] == {"held": 2, "free": 6}
    assert [step["state"] for step in state["steps"]] == ["done", "failed"]
    assert (state["log"]["shapes"], len(state["runs"])) == (1, 2)


def test_the_last_state_is_told_in_words(story):
    code, text = replay(story)
    assert code == 0
    assert text.startswith("REPLAY of gpu-node-1: ")
    assert "verdict withheld" in text


def test_a_recording_that_is_cut_ends_with_1_and_says_where(story):
    story.write_bytes(story.read_bytes()[:-200])
    code, text = replay(story, "--json")
    told = json.loads(text)
    assert (code, told["ok"], told["whole"]) == (1, False, False)
    assert told["ended"] == f"line {told['line'] + 1:,} (byte {told['byte']:,}) is cut"


def test_what_is_no_recording_ends_with_2(tmp_path):
    path = tmp_path / "x"
    path.write_text("text\n")
    assert replay(path)[0] == 2
    assert replay(tmp_path / "gone")[0] == 2
