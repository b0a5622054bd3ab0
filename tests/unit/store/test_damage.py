"""A damaged journal is set aside whole, and that is said; two consoles that meet it do not set the new one aside."""

from __future__ import annotations

import sqlite3

import pytest

from console.errors import UsageError
from console.store import Journal, damage
from tests.unit.probe.runs import stored

TEXT = b"this is a text file, not a database, and long enough to tell" * 100


@pytest.fixture
def path(tmp_path):
    return tmp_path / "data" / "runs.sqlite3"


def fill(path, runs=50):
    with Journal(path) as journal:
        for number in range(runs):
            journal.add_run(stored(90.0, run_id=f"r{number}"))


def spoil(path):
    """Leave the first page, which tells the schema, and make the rest unreadable."""
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xa5" * (len(data) - 4096)
    path.write_bytes(data)
    return bytes(data)


def aside(path):
    return [each for each in path.parent.iterdir() if ".damaged-" in each.name]


def test_a_file_that_is_no_journal_is_set_aside_as_it_was_and_a_new_one_begun(path):
    path.parent.mkdir()
    path.write_bytes(TEXT)
    with Journal(path) as journal:
        assert journal.add_run(stored(90.0))
        (kept,) = aside(path)
        warning = journal.told_once()
        assert str(path) in warning
        assert kept.name in warning
        assert journal.told_once() == "", "once is enough"
    assert kept.read_bytes() == TEXT
    with Journal(path) as journal:
        assert journal.get_run("@1").run_id == "run-1"
        assert journal.told_once() == ""


def test_damage_that_is_met_in_the_middle_of_work_is_said_and_set_aside_at_the_next_start(path):
    fill(path)
    data = spoil(path)
    with pytest.raises(UsageError, match="damaged") as caught, Journal(path) as journal:
        journal.list_runs()
    assert "sets the file aside" in caught.value.hint
    with Journal(path) as journal:
        assert journal.told_once()
        assert journal.list_runs() == ()
    (kept,) = aside(path)
    assert kept.read_bytes() == data
    assert not damage.is_suspected(path)


def test_a_suspicion_that_is_wrong_costs_nothing(path):
    fill(path, runs=1)
    damage.suspect(path)
    with Journal(path) as journal:
        assert journal.told_once() == ""
        assert journal.get_run("r0")
    assert aside(path) == []


def test_the_write_ahead_log_goes_with_its_file(path):
    fill(path)
    holder = sqlite3.connect(path)  # so that closing the journal leaves the log where it is
    holder.execute("SELECT count(*) FROM runs").fetchone()
    with Journal(path) as journal:
        journal.set_note("r0", "kept in the log")
    assert path.with_name(f"{path.name}-wal").stat().st_size > 0
    spoil(path)
    moved = damage.set_aside(path)
    assert moved is not None
    assert moved.with_name(f"{moved.name}-wal").exists()
    assert not path.exists()
    assert not path.with_name(f"{path.name}-wal").exists()
    holder.close()


def test_the_second_console_finds_the_new_file(path):
    path.parent.mkdir()
    path.write_bytes(TEXT)
    Journal(path).close()
    assert damage.set_aside(path) is None
    assert len(aside(path)) == 1


def test_files_set_aside_in_one_second_have_names_of_their_own(path):
    path.parent.mkdir()
    for _ in range(3):
        path.write_bytes(TEXT)
        assert damage.set_aside(path)
    assert len(aside(path)) == 3
