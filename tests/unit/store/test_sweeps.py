"""Sweeps in the journal: found again, point by point, by one process at a time."""

from __future__ import annotations

import dataclasses
import sqlite3

import pytest

from console.errors import Refused, UsageError
from console.probe.sweep import RunSummary, StoredSweep, SweepPoint
from console.store import Journal
from console.store.database import MIGRATIONS, SCHEMA
from tests.unit.probe.runs import stored

POINTS = (SweepPoint(1, "baseline_start"), SweepPoint(2, "point", {"a": 1}), SweepPoint(3, "baseline_end"))


def made(sweep_id: str = "s1", at: float = 1.0, node: str = "n") -> StoredSweep:
    return StoredSweep(sweep_id, at, node, "p", {"sets": ["a=1,2"], "steps": None}, "planned", POINTS)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs.sqlite3"


@pytest.fixture
def journal(path):
    with Journal(path) as opened:
        yield opened


def test_a_sweep_comes_back_as_it_was_kept_and_as_it_went_on(path):
    with Journal(path) as journal:
        journal.add_sweep(made())
    with Journal(path) as journal:
        assert journal.get_sweep("s1") == made()
        run = RunSummary.of(stored(94.0, 95.0, output_tok_s=94.5))
        done = dataclasses.replace(POINTS[1], state="done", run=run, interval=(93.0, 96.0), launch_id="l1")
        journal.put_point("s1", done)
        journal.set_sweep("s1", "running")
    with Journal(path) as journal:
        found = journal.get_sweep("s1")
        assert (found.state, found.points, found.measured) == ("running", (POINTS[0], done, POINTS[2]), 1)


def test_sweeps_are_found_by_id_beginning_and_place(journal):
    for at, (name, node) in enumerate([("sabc1", "n"), ("sabd2", "n"), ("sabd3", "other")]):
        journal.add_sweep(made(name, float(at), node))
    assert journal.get_sweep("sabc").sweep_id == "sabc1"
    assert journal.get_sweep("@1").sweep_id == "sabd3"
    assert journal.get_sweep("@1", "n").sweep_id == "sabd2"
    assert journal.get_sweep("sabd", "n").sweep_id == "sabd2"
    for wrong in ("sab", "", "@0", "@4", "@x", "@", "@²", "@" + "9" * 40, "x"):
        with pytest.raises(UsageError) as caught:
            journal.get_sweep(wrong)
        assert "sabd3" in caught.value.hint


def test_one_process_sweeps_a_node_at_a_time(path):
    with Journal(path) as one, Journal(path) as two:
        with one.hold_sweeps("n"):
            with pytest.raises(Refused, match="another console of yours is sweeping n"), two.hold_sweeps("n"):
                pass
            with two.hold_sweeps("m"):
                pass
        with two.hold_sweeps("n"):
            pass


def test_a_damaged_point_is_told_as_such(journal, path):
    journal.add_sweep(made())
    for text in ("{", "[]", '{"run": 3}', '{"number": 1}', "{}"):
        with sqlite3.connect(path) as raw:
            raw.execute("UPDATE sweep_points SET point = ? WHERE number = 2", (text,))
        with pytest.raises(UsageError, match="cannot be read: s1"):
            journal.get_sweep("s1")


def test_secrets_in_a_request_are_masked(journal, path):
    journal.add_sweep(dataclasses.replace(made(), request={"api_key": "sk-1"}))
    journal.close()
    assert b"sk-1" not in b"".join(each.read_bytes() for each in path.parent.iterdir())


def test_a_journal_of_the_schema_before_is_taken_further(path):
    with sqlite3.connect(path) as raw:
        for statement in MIGRATIONS[0]:
            raw.execute(statement)
        raw.execute("PRAGMA user_version = 1")
        raw.execute("INSERT INTO actions VALUES (1, 1.0, 'n', 'free', '{}', '{}')")
    raw.close()
    with Journal(path) as journal:
        assert journal.list_actions()[0].verb == "free"
        journal.add_sweep(made())
        assert journal.get_sweep("@1") == made()
    with sqlite3.connect(path) as raw:
        assert raw.execute("PRAGMA user_version").fetchone() == (SCHEMA,)
    raw.close()
