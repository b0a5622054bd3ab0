"""What a user puts on runs: tags, notes, pins, deletion with its undo; and how runs are found by words."""

from __future__ import annotations

import sqlite3

import pytest

from console.errors import UsageError
from console.store import Journal
from console.store.database import MIGRATIONS
from console.store.labels import NOTE_LIMIT, RunLabels
from tests.unit.probe.runs import SPECULATIVE, fingerprint, stored


@pytest.fixture
def journal(tmp_path):
    with Journal(tmp_path / "runs.sqlite3") as opened:
        opened.add_run(stored(90.0, run_id="base", at=1.0, profile="plain"))
        opened.add_run(stored(80.0, run_id="spec", at=2.0, argv=SPECULATIVE, env={"NCCL_PROTO": "LL128"}))
        opened.add_run(stored(70.0, run_id="other", at=3.0, node="node-2", notes=("clocks were Ünsteady",)))
        yield opened


def ids(runs):
    return [run.run_id for run in runs]


def test_a_run_has_no_labels_until_it_is_given_some(journal):
    assert journal.labels() == {}
    journal.tag("base", ["nightly", "pr/12", "nightly"])
    journal.set_note("base", " after the driver update ")
    journal.pin("base", 5.0)
    assert journal.labels() == {"base": RunLabels(("nightly", "pr/12"), "after the driver update", pinned=True)}
    assert journal.labels("node-2") == {}
    journal.untag("base", ["nightly", "pr/12"])
    journal.set_note("base", "")
    journal.pin("base", None)
    assert journal.labels() == {}


@pytest.mark.parametrize("tag", ["", "two words", "a,b", "-x", "x" * 41, "a\x1b[31m", "#a"])
def test_what_is_no_tag_is_refused_and_none_of_them_is_put_on(journal, tag):
    with pytest.raises(UsageError, match="no tag"):
        journal.tag("base", ["fine", tag])
    assert journal.labels() == {}


def test_a_tag_that_is_not_there_cannot_be_taken_off(journal):
    journal.tag("base", ["a"])
    with pytest.raises(UsageError, match="has no tag 'b'"):
        journal.untag("base", ["a", "b"])
    assert journal.labels()["base"].tags == ("a",)


def test_a_note_has_a_limit_and_holds_no_secret(journal):
    with pytest.raises(UsageError, match="characters"):
        journal.set_note("base", "x" * (NOTE_LIMIT + 1))
    journal.set_note("base", "ran with HF_TOKEN=hf_abcdefghijklmnopqrst on")
    assert journal.labels()["base"].note == "ran with HF_TOKEN=*** on"


@pytest.mark.parametrize("change", [("tag", ["a"]), ("untag", ["a"]), ("set_note", "x"), ("pin", 1.0), ("delete", 1.0)])
def test_a_run_that_is_not_there_has_no_labels(journal, change):
    with pytest.raises(UsageError, match="no run 'gone'"):
        getattr(journal, change[0])("gone", change[1])


def test_a_deleted_run_is_found_by_nothing_until_it_is_brought_back(journal):
    journal.pin("base", 1.0)
    journal.delete("base", 10.0)
    assert ids(journal.list_runs("gpu-node-1")) == ["spec"]
    assert ids(journal.list_runs(deleted=True)) == ["base"]
    assert journal.pins("gpu-node-1") == ()
    assert journal.find_baseline("gpu-node-1", fingerprint()) is None
    assert journal.has_run("base"), "a probe that is collected again is not taken for a new one"
    for reference in ("base", "@3"):
        with pytest.raises(UsageError):
            journal.get_run(reference)
    with pytest.raises(UsageError, match="was deleted") as caught:
        journal.get_run("base")
    assert "undelete base" in caught.value.hint
    assert journal.undelete() == "base"
    assert journal.get_run("base").result.blocks == (90.0,)
    assert journal.pins("gpu-node-1") == ("base",)


def test_the_one_deleted_last_is_brought_back_first_and_others_by_name(journal):
    for at, run_id in enumerate(("base", "spec", "other")):
        journal.delete(run_id, float(at))
    assert journal.undelete() == "other"
    assert journal.undelete("ba") == "base"
    with pytest.raises(UsageError, match="names no deleted run"):
        journal.undelete("base")
    assert journal.undelete() == "spec"
    with pytest.raises(UsageError, match="no run is deleted"):
        journal.undelete()


def test_a_pinned_run_is_the_baseline_before_newer_ones(journal):
    journal.add_run(stored(91.0, run_id="newer", at=9.0))
    assert journal.find_baseline("gpu-node-1", fingerprint()).run_id == "newer"
    journal.pin("base", 1.0)
    assert journal.find_baseline("gpu-node-1", fingerprint()).run_id == "base"
    journal.pin("newer", 2.0)
    assert journal.pins("gpu-node-1") == ("newer", "base")
    assert journal.find_baseline("gpu-node-1", fingerprint(sglang_version="0.5.20")) is None, (
        "a pin makes nothing alike"
    )


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("", ["other", "spec", "base"]),
        ("eagle3", ["spec"]),
        ("NCCL_PROTO=ll128", ["spec"]),
        ("/models/draft spec", ["spec"]),
        ("node-2", ["other"]),
        ("clocks Ünsteady", ["other"]),
        ("plain eagle3", []),
        ("ticket-7", ["base"]),
        ("after", ["base"]),
        ("100%", []),
        ("'; DROP TABLE runs; --", []),
    ],
)
def test_runs_are_found_by_words_anywhere(journal, search, found):
    journal.tag("base", ["ticket-7"])
    journal.set_note("base", "After the update")
    assert ids(journal.list_runs(search=search)) == found


def test_words_tags_and_a_node_narrow_together(journal):
    journal.tag("base", ["a", "b"])
    journal.tag("spec", ["a"])
    assert ids(journal.list_runs(tags=("a",))) == ["spec", "base"]
    assert ids(journal.list_runs(tags=("a", "b"))) == ["base"]
    assert ids(journal.list_runs("gpu-node-1", search="eagle3", tags=("a",))) == ["spec"]
    assert ids(journal.list_runs("node-2", tags=("a",))) == []


def test_what_a_comparison_said_is_kept_once(journal):
    base, spec = journal.get_run("base"), journal.get_run("spec")
    for at in (1.0, 2.0):
        journal.add_verdict(at, base, spec, ("speculative",), {"verdict": "slower", "why": ""})
    journal.add_verdict(3.0, base, spec, (), {"verdict": "withheld", "why": "speculative"})
    newest, first = journal.list_actions(verb="compare")
    assert (newest.at, newest.outcome["verdict"]) == (3.0, "withheld")
    assert first.request == {"baseline": "base", "candidate": "spec", "varies": ["speculative"]}


def test_actions_are_found_by_verb_and_words(journal):
    journal.add_action(1.0, "n", "plan", {"verb": "launch", "plan": ["python -m sglang"]}, {"answer": "declined"})
    journal.add_action(2.0, "n", "launch", {"profile": "kimi"}, {"ok": True})
    assert [each.verb for each in journal.list_actions(search="LAUNCH")] == ["launch", "plan"]
    assert [each.verb for each in journal.list_actions(verb="plan", search="declined sglang")] == ["plan"]
    assert journal.list_actions(search="nothing like it") == ()


def test_what_an_export_needs_is_found_beside_the_run(tmp_path):
    from console.probe.fingerprint import PatchRef

    run = stored(90.0, run_id="r", at=10.0, launch_id="s-2", patches=(PatchRef("shapes", "0" * 64),))
    with Journal(tmp_path / "j") as journal:
        journal.add_run(run)
        journal.tag("r", ["a"])
        for at, patches, diff in ((1.0, ["shapes"], "old"), (2.0, ["shapes"], "new"), (3.0, ["shapes"], "")):
            journal.add_action(at, run.node, "patch apply", {"patches": patches, "diff": diff}, {"ok": True})
        journal.add_action(4.0, run.node, "patch apply", {"patches": ["cycle"], "diff": "another patch"}, {"ok": True})
        journal.add_action(11.0, run.node, "patch apply", {"patches": ["shapes"], "diff": "later"}, {"ok": True})
        for server in ("s-1", "s-2"):
            journal.add_action(5.0, run.node, "launch", {"profile": "p"}, {"ok": True, "server": {"id": server}})
        found = journal.context(run)
    assert (found.diff, found.tags) == ("new", ("a",))
    assert found.launch["outcome"]["server"] == {"id": "s-2"}


def test_a_journal_of_an_older_console_gets_the_new_columns_and_keeps_its_rows(tmp_path):
    path = tmp_path / "j"
    raw = sqlite3.connect(path)
    for step in MIGRATIONS[:2]:
        for statement in step:
            raw.execute(statement)
    raw.execute("PRAGMA user_version = 2")
    result = '{"valid": true, "why": "", "requests": 1, "completion_tokens": 1}'
    values = f"'old', 1.0, 'n', 'p', '', 'probe', '', '{{}}', '{result}'"
    columns = "id, at, node, profile, profile_hash, kind, launch_id, fingerprint, result"
    raw.execute(f"INSERT INTO runs ({columns}) VALUES ({values})")
    raw.commit()
    raw.close()
    with Journal(path) as journal:
        assert ids(journal.list_runs()) == ["old"]
        journal.tag("old", ["kept"])
        assert journal.labels()["old"].tags == ("kept",)
