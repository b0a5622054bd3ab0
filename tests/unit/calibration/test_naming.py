"""A histogram is called by the wiring that gives it."""

from __future__ import annotations

import pytest

from console.calibration import naming
from tests.unit.calibration.known import BLIND, EARLY, POSITIONS, RIGHT, TABLE

NAMES = {
    (2, 3, 6): "as trained: outputs of layers 2, 3, 6 in fc's slots",
    (1, 2, 5): "all one layer early: outputs of layers 1, 2, 5 in fc's slots",
    (3, 4, 7): "all one layer late: outputs of layers 3, 4, 7 in fc's slots",
    (1, 3, 6): "slot 0 one layer early: outputs of layers 1, 3, 6 in fc's slots",
    (2, 3, 4): "slot 2 2 layers early: outputs of layers 2, 3, 4 in fc's slots",
    (-1, 3, 6): "slot 0 holds the embedding: outputs of layers embedding, 3, 6 in fc's slots",
    (3, 2, 6): "slots 0 and 1 of fc swapped: outputs of layers 3, 2, 6 in fc's slots",
    (6, 3, 2): "slots 0 and 2 of fc swapped: outputs of layers 6, 3, 2 in fc's slots",
    (3, 6, 2): "slots of fc in another order: outputs of layers 3, 6, 2 in fc's slots",
    (1, 3, 4): "2 slots wrong: outputs of layers 1, 3, 4 in fc's slots",
}


@pytest.mark.parametrize("outputs", NAMES)
def test_names(outputs):
    found = TABLE.of(outputs)
    assert found is not None
    assert naming.name(found, TABLE.trained) == NAMES[outputs]


@pytest.mark.parametrize("known", [TABLE, POSITIONS])
def test_every_prediction_has_a_name_of_its_own(known):
    named = [naming.name(each, known.trained) for each in known.predictions]
    assert len(set(named)) == len(named)


def test_a_histogram_names_what_gives_it():
    assert list(naming.lines(TABLE, RIGHT)) == [NAMES[2, 3, 6]]
    assert list(naming.lines(TABLE, EARLY)) == [NAMES[1, 2, 5]]
    assert next(naming.lines(TABLE, (66, 50, 26, 16, 8, 9))).startswith("d2t is not applied")
    assert list(naming.lines(TABLE, (12, 15, 119))) == ["as trained, but 2 draft steps"]
    lost = "the draft's attention is lost after step 2: positions or KV cache of drafted tokens"
    assert list(naming.lines(POSITIONS, (12, 15, 119))) == [lost, "as trained, but 2 draft steps"]
    (told,) = naming.lines(POSITIONS, BLIND)
    assert told.startswith("the target's attention finds nothing, or other tokens, in all layers")


def test_total_loss_is_not_told_apart():
    told = list(naming.lines(TABLE, (399,)))
    assert told[0].startswith("total loss")
    assert any("EAGLE" in line for line in told)
    assert len(told) <= naming.MOST_NAMED + 2


def test_a_histogram_of_no_wiring():
    (told,) = naming.lines(TABLE, (1, 2, 3))
    assert told == f"none of the {len(TABLE.predictions)} known wirings gives this"
