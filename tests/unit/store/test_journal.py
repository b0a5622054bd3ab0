"""The journal keeps runs and actions, privately, and says in plain words when it cannot."""

from __future__ import annotations

import dataclasses
import sqlite3
import stat

import pytest

from console.errors import ConsoleError, Refused, UsageError
from console.probe.workload import Workload
from console.store import Journal
from console.store.database import SCHEMA
from tests.unit.probe.runs import ARGV, SPECULATIVE, fingerprint, stored


@pytest.fixture
def path(tmp_path):
    return tmp_path / "data" / "runs.sqlite3"


@pytest.fixture
def journal(path):
    with Journal(path) as opened:
        yield opened


def test_a_run_comes_back_as_it_was_kept(journal):
    run = stored(90.0, 91.0, argv=SPECULATIVE, accept_len=4.6512, accept_hist=(8, 10), launch_id="s-1")
    assert journal.add_run(run, spool=b'{"event":"done"}\n')
    assert journal.get_run("run-1") == run
    assert journal.spool("run-1") == b'{"event":"done"}\n'


def test_it_survives_closing(path):
    with Journal(path) as journal:
        journal.add_run(stored(90.0, run_id="a1"))
    with Journal(path) as journal:
        assert journal.get_run("a1").run_id == "a1"
        assert journal.spool("a1") is None


def test_a_run_collected_twice_is_kept_once(journal):
    assert journal.add_run(stored(90.0))
    assert not journal.add_run(stored(80.0))
    assert journal.get_run("@1").result.blocks == (90.0,)


def test_runs_are_found_by_id_beginning_and_place(journal):
    for n, run_id in enumerate(["abc1", "abd2", "abd23"]):
        journal.add_run(stored(90.0, run_id=run_id, at=1000.0 + n))
    assert journal.get_run("abc").run_id == "abc1"
    assert journal.get_run("abd2").run_id == "abd2", "a whole id is never ambiguous"
    assert journal.get_run("@1").run_id == "abd23"
    assert journal.get_run("@3").run_id == "abc1"


@pytest.mark.parametrize("reference", ["ab", "zz", "", "%", "_bc1", "@0", "@4", "@", "@-1", "@x", "@²", "@" + "9" * 50])
def test_a_reference_to_none_or_several_is_a_usage_error(journal, reference):
    for run_id in ("abc1", "abd2", "abd23"):
        journal.add_run(stored(90.0, run_id=run_id))
    with pytest.raises(UsageError) as caught:
        journal.get_run(reference)
    assert caught.value.hint


def test_runs_are_listed_newest_first_by_node(journal):
    for n in range(4):
        journal.add_run(stored(90.0, run_id=f"r{n}", at=float(n), node="a" if n % 2 else "b"))
    assert [run.run_id for run in journal.list_runs()] == ["r3", "r2", "r1", "r0"]
    assert [run.run_id for run in journal.list_runs(node="a")] == ["r3", "r1"]
    assert [run.run_id for run in journal.list_runs(limit=1)] == ["r3"]
    assert journal.list_runs(kind="sweep") == ()


def test_the_baseline_is_the_newest_valid_run_of_the_same_server_and_workload(journal):
    journal.add_run(stored(90.0, run_id="old", at=1.0))
    journal.add_run(stored(90.0, run_id="good", at=2.0))
    journal.add_run(stored(90.0, run_id="broken", at=3.0, valid=False, why="cancelled"))
    journal.add_run(stored(90.0, run_id="elsewhere", at=4.0, node="other"))
    journal.add_run(stored(90.0, run_id="graphs-off", at=5.0, argv=(*ARGV, "--disable-cuda-graph")))
    journal.add_run(stored(90.0, run_id="bye", at=6.0, workload=Workload("chat", ("Bye.",)).identity()))
    found = journal.find_baseline("gpu-node-1", fingerprint(argv=(*ARGV[:-1], "8001")))
    assert found.run_id == "good", "another port is the same server"
    assert journal.find_baseline("gpu-node-1", fingerprint(sglang_version="0.5.20")) is None


def test_a_baseline_for_a_candidate_is_found_through_what_it_declares(journal):
    journal.add_run(stored(90.0, run_id="base"))
    candidate = fingerprint(argv=SPECULATIVE)
    assert journal.find_baseline("gpu-node-1", candidate) is None
    assert journal.find_baseline("gpu-node-1", candidate, ["speculative"]).run_id == "base"
    assert journal.find_baseline("gpu-node-1", candidate, ["speculative"], profile="another") is None


def test_the_workload_of_a_baseline_cannot_be_declared_away(journal):
    journal.add_run(stored(90.0))
    other = fingerprint(workload=Workload("chat", ("Bye.",)).identity())
    assert journal.find_baseline("gpu-node-1", other, ["workload"]) is None


def test_actions_are_kept_newest_first_without_secrets(journal, path):
    request = {"argv": ["x", "--api-key", "sk-1", "--port", "1"], "env": {"HF_TOKEN": "sk-2"}, "api_key": "sk-3"}
    journal.add_action(1.0, "a", "free", {"gpus": [0, 1]}, {"ok": True})
    journal.add_action(2.0, "a", "launch", request, {"servers": [{"admin_api_key": "sk-4", "id": "s"}]})
    latest, first = journal.list_actions("a")
    assert (latest.verb, first.verb) == ("launch", "free")
    assert first.request == {"gpus": [0, 1]}
    assert latest.request["argv"] == ["x", "--api-key", "***", "--port", "1"]
    assert latest.outcome == {"servers": [{"admin_api_key": "***", "id": "s"}]}
    assert journal.list_actions("b") == ()
    journal.close()
    assert b"sk-" not in b"".join(file.read_bytes() for file in path.parent.iterdir())


def test_a_run_s_secrets_are_not_on_the_disk(path):
    run = stored(90.0, argv=(*ARGV, "--api-key", "sk-1"), env={"SGLANG_ADMIN_API_KEY": "sk-2"})
    with Journal(path) as journal:
        journal.add_run(run)
    assert b"sk-" not in b"".join(file.read_bytes() for file in path.parent.iterdir())


def test_its_files_are_private_in_a_private_folder(path):
    with Journal(path) as journal:
        journal.add_run(stored(90.0))
        files = list(path.parent.iterdir())
        assert len(files) > 1, "the write-ahead log lies beside it"
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_file_that_others_could_read_becomes_private(path):
    path.parent.mkdir()
    path.touch(mode=0o644)
    path.chmod(0o644)
    Journal(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_it_is_in_wal_mode_with_its_schema_number(path):
    Journal(path).close()
    with sqlite3.connect(path) as raw:
        assert raw.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert raw.execute("PRAGMA user_version").fetchone() == (SCHEMA,)
    raw.close()


def test_two_consoles_share_it(path):
    with Journal(path) as one, Journal(path) as two:
        one.add_run(stored(90.0, run_id="a"))
        two.add_run(stored(90.0, run_id="b"))
        assert {run.run_id for run in one.list_runs()} == {"a", "b"}


def test_a_journal_of_a_newer_console_is_left_alone(path):
    Journal(path).close()
    raw = sqlite3.connect(path)
    raw.execute(f"PRAGMA user_version = {SCHEMA + 1}")
    raw.close()
    before = path.read_bytes()
    with pytest.raises(UsageError, match="newer") as caught:
        Journal(path)
    assert "Update" in caught.value.hint
    assert path.read_bytes() == before


def test_a_held_journal_is_refused_after_a_while(path):
    with Journal(path, busy_timeout_s=0.01) as journal:
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(Refused, match="held"):
            journal.add_run(stored(90.0))
        holder.execute("ROLLBACK")
        holder.close()
        assert journal.add_run(stored(90.0)), "and works again afterwards"


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ("result", "{"),
        ("result", "[]"),
        ("result", '{"valid": true}'),
        ("result", '{"ttft_ms": 7}'),
        ("fingerprint", "{"),
        ("fingerprint", "[]"),
        ("fingerprint", '{"patches": 7}'),
        ("fingerprint", '{"env": 7}'),
    ],
)
def test_a_record_that_cannot_be_read_is_named(path, column, text):
    with Journal(path) as journal:
        journal.add_run(stored(90.0))
    raw = sqlite3.connect(path)
    raw.execute(f"UPDATE runs SET {column} = ?", (text,))
    raw.commit()
    raw.close()
    with Journal(path) as journal, pytest.raises(UsageError, match="run-1"):
        journal.list_runs()


def test_a_place_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConsoleError, match="cannot be opened") as caught:
        Journal(tmp_path / "file" / "runs.sqlite3")
    assert caught.value.hint
    with pytest.raises(ConsoleError, match="cannot be opened"):
        Journal(tmp_path)


def test_a_hostile_name_is_only_a_value(journal):
    name = "x'); DROP TABLE runs; --"
    journal.add_run(dataclasses.replace(stored(90.0), node=name, run_id=name))
    assert journal.get_run(name).node == name
    assert journal.list_runs(node=name)[0].run_id == name
