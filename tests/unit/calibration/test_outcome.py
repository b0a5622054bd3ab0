"""What a calibration says of itself: as predicted or not, a fault that was made on purpose, a death."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from console.actions.calibration_outcome import CalibrateOutcome, SawOutcome
from console.calibration.pair import PairSpec
from console.calibration.verdict import Seen
from console.calibration.wirings import Wired
from console.cli import main
from tests.unit.calibration.known import EARLY, RIGHT, TABLE

TRAINED = Wired("trained", (2, 3, 6), outputs=(2, 3, 6))
ONE_EARLY = Wired("one_early", (1, 2, 5), outputs=(1, 2, 5))
EMBEDDING = Wired("embedding", (-1, 3, 6), faults=("the embedding cannot be captured here",))


def outcome(wired, *launches, provoked=False):
    return CalibrateOutcome(TABLE, PairSpec("llama"), wired, provoked, launches, {"steps": 5})


def seen(hist, graphs=False):
    return Seen(graphs, 400 / sum(hist), hist)


def test_as_predicted():
    found = outcome(TRAINED, seen(RIGHT))
    assert (found.ok, found.died) == (True, False)
    assert found.proof.startswith("as predicted: accept_len 4.6512")


def test_another_wiring_is_named_and_not_ok():
    found = outcome(TRAINED, seen(EARLY))
    assert not found.ok
    assert found.named == ["all one layer early: outputs of layers 1, 2, 5 in fc's slots"]
    assert "NOT as predicted" in found.proof


def test_ids_that_the_user_chose_are_judged_by_what_was_trained():
    assert not outcome(Wired("ids", (2, 3, 6), outputs=(1, 2, 5)), seen(EARLY)).ok


def test_a_fault_on_purpose_is_ok_when_it_does_what_was_predicted_of_it():
    found = outcome(ONE_EARLY, seen(EARLY), provoked=True)
    assert found.ok
    assert [stage.id for stage in found.stages if stage.verdict == "fault"] == ["capture_layers"]
    assert "finds it" in list(found.lines())[-1]


def test_a_fault_on_purpose_that_does_nothing_is_not_ok():
    found = outcome(ONE_EARLY, seen(RIGHT), provoked=True)
    assert not found.ok
    assert "MISSES it" in list(found.lines())[-1]


def test_a_death_is_named_as_the_wiring_it_proves():
    died = Seen(False, died="TypeError: 'Tensor' and 'NoneType'", rule="ids-out-of-range")
    found = outcome(EMBEDDING, died, provoked=True)
    assert (found.ok, found.died) == (True, True)
    assert "embedding" in found.named[0]
    assert not outcome(TRAINED, died).ok


def test_a_death_of_another_kind_names_no_wiring():
    found = outcome(TRAINED, Seen(False, died="CUDA out of memory", rule="gpu-out-of-memory"))
    assert "no known wiring" in found.named[0]


def test_graphs_that_replay_other_layers_are_not_ok():
    assert outcome(TRAINED, seen(RIGHT, graphs=True), seen(RIGHT)).ok
    assert not outcome(TRAINED, seen(RIGHT, graphs=True), seen((199, 2, 2, 2, 0, 31))).ok


def test_json_has_every_stage():
    told = json.loads(json.dumps(outcome(TRAINED, seen(EARLY)).to_json()))
    assert {"id", "expected", "got", "verdict"} <= set(told["stages"][0])
    assert told["stages"][1] == {"id": "capture_layers", "expected": [2, 3, 6], "got": [1, 2, 5], "verdict": "fault"}
    assert told["got"][0]["hist"] == list(EARLY)


def test_a_histogram_that_was_seen_elsewhere():
    found = SawOutcome(TABLE, "llama", EARLY)
    assert found.ok
    assert found.to_json()["outputs"] == [[1, 2, 5]]
    assert not SawOutcome(TABLE, "llama", (1, 2, 3)).ok


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--wiring", "list"], 0),
        (["--ids", "2,3,6", "--wiring", "one_early"], 2),
        (["--ids", "2,x"], 2),
        (["--saw", "1,,2"], 2),
        (["--saw", ""], 2),
        (["--steps", "5"], 2),
    ],
)
def test_the_verb_says_what_is_wrong_before_it_connects(words, code):
    done = CliRunner().invoke(main, ["calibrate", "nowhere", *words])
    assert done.exit_code == code, done.output


def test_the_embedded_node_has_nothing_to_calibrate(tmp_path, monkeypatch):
    monkeypatch.setenv("SPEC_CONSOLE_HOME", str(tmp_path))
    done = CliRunner().invoke(main, ["calibrate", "demo", "--profile", "kimi-k2.5-eagle3", "--yes"])
    assert done.exit_code == 2
    assert "simulated" in done.output
