"""`runs`, `runs export` and `compare` over a journal of two runs of the pair: one plain, one with graphs off."""

from __future__ import annotations

import dataclasses
import json

import pytest
from click.testing import CliRunner

from console.cli import main
from console.paths import locate
from console.probe.metrics import measure
from console.probe.sweep import RunSummary, StoredSweep, SweepPoint
from console.probe.trace import BlockTrace
from console.probe.workload import Workload
from console.store.journal import Journal
from tests.unit.probe.runs import SPECULATIVE, line, pair_chunks, pair_request, stored, trace

LOAD = Workload("input_ids", input_ids=((5, 17, 300),), max_new_tokens=400).identity()


def spool(ids):
    fields = {"block": 0, "index": 0, "warmup": False, "completion_tokens": 400, "e2e_s": 0.92}
    told = pair_request()
    request = line("request", **fields, chunks=pair_chunks(), meta_info=dict(told.meta_info), output_ids=ids)
    block = line("block", block=0, requests=1, completion_tokens=400, wall_s=1.0, client_cpu_s=0.01)
    return request + block + line("done", valid=True, why="")


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A console whose journal holds three runs."""
    monkeypatch.setenv("SPEC_CONSOLE_HOME", str(tmp_path))
    blocks = tuple(BlockTrace(n, 1, 400, 1.0 + n / 100, 0.01) for n in range(3))
    result = measure(trace(*(pair_request(block=n) for n in range(3)), blocks=blocks))
    fast = dataclasses.replace(stored(1.0, run_id="fast-1", workload=LOAD, argv=SPECULATIVE), result=result)
    slow = dataclasses.replace(
        stored(1.0, run_id="slow-1", at=2000.0, workload=LOAD, argv=(*SPECULATIVE, "--disable-cuda-graph")),
        result=dataclasses.replace(result, blocks=(40.0, 41.0, 39.0), output_tok_s=40.0),
    )
    with Journal(locate().database) as journal:
        journal.add_run(fast, spool(list(range(400))))
        journal.add_run(dataclasses.replace(fast, run_id="fast-2", at=1500.0, launch_id="again"), None)
        journal.add_run(slow, spool([*range(120), *range(500, 780)]))
    return tmp_path


def run(*words):
    """Exit code and what was printed on stdout."""
    done = CliRunner().invoke(main, words)
    return done.exit_code, done.stdout


def told(*words):
    code, text = run(*words, "--json")
    return code, json.loads(text)


def test_runs_alone_lists_as_runs_list_does(home):
    code, text = run("runs")
    assert code == 0
    assert [row.split()[:2] for row in text.splitlines()] == [
        ["@N", "RUN"],
        ["@1", "slow-1"],
        ["@2", "fast-2"],
        ["@3", "fast-1"],
    ]
    assert run("runs", "--limit", "1") == run("runs", "list", "--limit", "1")
    code, data = told("runs", "--node", "gpu-node-1")
    assert (data["schema"], len(data["runs"])) == ("spec-console/runs/1", 3)


def listed(*words):
    """@N and id of each row."""
    return [row.split()[:2] for row in run("runs", "list", *words)[1].splitlines()[1:]]


def test_points_of_a_sweep_are_told_apart_by_what_they_set(home):
    fast, slow = (RunSummary(each) for each in ("fast-1", "slow-1"))
    points = (
        SweepPoint(1, "baseline_start", run=fast),
        SweepPoint(2, "point", {"speculative.num_steps": 2}, {"NCCL_PROTO": "LL"}, run=slow),
        SweepPoint(3, "point", {"speculative.num_steps": 3}),
    )
    with Journal(locate().database) as journal:
        journal.add_sweep(StoredSweep("s1", 1.0, "gpu-node-1", "p", {}, "running", points))
    rows = run("runs")[1].splitlines()
    assert rows[1].endswith("steps 2, NCCL_PROTO=LL")
    assert rows[3].endswith("baseline, first")


@pytest.mark.parametrize(
    ("words", "told_on_stderr"),
    [
        (("runs", "list", "--search", "nosuch"), "none of 3 runs matches"),
        (("runs", "--tag", "nosuch"), "none of 3 runs matches"),
        (("runs", "list", "--deleted"), "there is no deleted run"),
        (("journal",), "there is no entry"),
    ],
)
def test_an_empty_list_says_why_beside_its_stdout(home, words, told_on_stderr):
    done = CliRunner().invoke(main, words)
    assert (done.exit_code, done.stdout, done.stderr.strip()) == (0, "", told_on_stderr)
    as_json = CliRunner().invoke(main, [*words, "--json"])
    assert json.loads(as_json.stdout)["ok"] is True


def test_a_verb_without_entries_is_told_with_those_that_have_some(home):
    with Journal(locate().database) as journal:
        journal.add_action(1.0, "n", "launch", {}, {})
        journal.add_action(2.0, "n", "probe", {}, {})
    done = CliRunner().invoke(main, ("journal", "--verb", "runs"))
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == "none of 2 entries matches; verbs: launch, probe\n"


def test_a_run_is_exported_to_stdout_or_to_a_new_file(home):
    code, text = run("runs", "export", "fast-1", "--format", "bench_serving")
    assert (code, json.loads(text)["completed"]) == (0, 1)
    path = home / "run.csv"
    assert run("runs", "export", "fast-1", "--format", "csv", "-o", str(path))[0] == 0
    assert path.read_text().startswith("run,simulated,block")
    assert run("runs", "export", "fast-1", "-o", str(path))[0] == 5, "nothing is written over"
    code, data = told("runs", "export", "@1", "--format", "md")
    assert (data["id"], data["format"], data["text"][:8]) == ("slow-1", "md", "# Probe ")
    assert run("runs", "export", "@1")[1] == data["text"], "markdown is what comes without a word"
    assert run("runs", "export", "fast-2", "--format", "jsonl")[0] == 2, "its traces were not kept"
    assert run("runs", "export", "fast-1", "-o", str(home / "no" / "run.md"))[0] == 2


def test_the_forms_that_the_verb_offers_are_those_that_there_are():
    from console.cli.runs import FORMATS
    from console.report import formats

    assert tuple(formats.FORMATS) == FORMATS


def test_a_note_has_its_pictures_beside_it_and_writes_over_none(home):
    path = home / "run.md"
    assert run("runs", "export", "slow-1", "-o", str(path))[0] == 0
    assert "![throughput](<run-throughput.svg>)" in path.read_text()
    assert (home / "run-throughput.svg").read_text().startswith("<svg")
    assert (home / "run-accepted.svg").exists()
    path.unlink()
    assert run("runs", "export", "slow-1", "-o", str(path))[0] == 5
    assert not path.exists(), "all of it, or nothing"


def test_a_run_is_exported_as_one_object_and_as_a_script(home):
    code, text = run("runs", "export", "fast-1", "--format", "json")
    data = json.loads(text)
    assert (code, data["schema"], data["run_id"], data["launch"]) == (0, "spec-console/run/1", "fast-1", {})
    path = home / "again.sh"
    assert run("runs", "export", "fast-1", "--format", "script", "-o", str(path))[0] == 0
    assert path.stat().st_mode & 0o111


def test_labels_are_put_on_shown_searched_and_taken_off(home):
    assert run("runs", "tag", "fast-1", "nightly", "pr/12")[0] == 0
    assert run("runs", "note", "fast-1", "after the update")[0] == 0
    code, text = run("runs", "pin", "fast-1")
    assert (code, text.strip().endswith("PINNED #nightly #pr/12 after the update")) == (0, True)
    code, data = told("runs", "list", "--tag", "nightly", "--search", "UPDATE")
    assert [(each["run_id"], each["tags"], each["note"], each["pinned"]) for each in data["runs"]] == [
        ("fast-1", ["nightly", "pr/12"], "after the update", True)
    ]
    assert run("runs", "--search", "nothing like it") == (0, "")
    assert listed("--search", "update") == [["@3", "fast-1"]], "the number that RUN takes, whatever is left out"
    assert told("runs", "untag", "fast-1", "nightly")[1]["tags"] == ["pr/12"]
    assert run("runs", "untag", "fast-1", "nightly")[0] == 2
    assert run("runs", "tag", "fast-1", "two words")[0] == 2
    assert told("runs", "unpin", "fast-1")[1]["pinned"] is False


@pytest.mark.parametrize(
    "words",
    [
        ("runs", "tag", "fast-1", "nightly"),
        ("runs", "untag", "fast-1", "nightly"),
        ("runs", "note", "fast-1", "x"),
        ("runs", "pin", "fast-1"),
        ("runs", "unpin", "fast-1"),
        ("runs", "delete", "fast-1"),
        ("runs", "undelete", "slow-1"),
        ("runs", "export", "fast-1", "-o", "out.md"),
        ("patch", "new", "my-rows"),
    ],
)
def test_a_dry_run_changes_nothing_on_this_machine_either(home, monkeypatch, words):
    monkeypatch.chdir(home)
    assert run("runs", "delete", "slow-1")[0] == 0

    def there():
        return told("runs", "list")[1], told("runs", "list", "--deleted")[1], sorted(home.rglob("*.*"))

    before = there()
    code, data = told(*words, "--dry-run")
    assert (code, data["ok"]) == (0, True)
    assert there() == before


def test_a_dry_run_of_what_would_be_refused_is_refused_behind_its_plan(home, monkeypatch):
    monkeypatch.chdir(home)
    assert run("patch", "new", "my-rows")[0] == 0
    code, data = told("patch", "new", "my-rows", "--dry-run")
    assert (code, data["ok"], data["id"], data["dry_run"]) == (5, False, "my-rows", True)
    assert "is there already" in data["error"]["message"]
    code, text = run("patch", "new", "my-rows", "--dry-run")
    assert (code, text.splitlines()[-1][:9]) == (5, "MY_ROWS=1"), "the plan is on stdout all the same"
    assert run("runs", "export", "fast-1", "-o", "out.md")[0] == 0
    assert run("runs", "export", "fast-1", "-o", "out.md", "--dry-run")[0] == 5


def test_a_run_is_deleted_and_brought_back(home):
    assert run("runs", "delete", "@1")[0] == 0
    assert listed() == [["@1", "fast-2"], ["@2", "fast-1"]]
    assert listed("--deleted") == [["–", "slow-1"]]
    assert run("compare", "fast-1", "slow-1")[0] == 2
    assert told("runs", "undelete")[1]["id"] == "slow-1"
    assert listed()[0] == ["@1", "slow-1"]
    code, data = told("runs", "undelete")
    assert (code, data["error"]["message"]) == (2, "no run is deleted")


def test_without_a_baseline_the_pinned_run_is_compared_with(home):
    code, data = told("compare", "slow-1")
    assert (code, "compare BASELINE slow-1" in data["error"]["hint"]) == (2, True), "none is pinned"
    assert run("runs", "pin", "fast-1")[0] == 0
    code, data = told("compare", "slow-1")
    assert (code, data["baseline"]["id"], data["candidate"]["id"]) == (0, "fast-1", "slow-1")
    assert run("compare", "fast-1")[0] == 2, "a run is no baseline of its own"
    assert run("compare", "fast-1", "fast-2", "slow-1")[0] == 2


def test_the_journal_tells_what_was_compared(home):
    run("compare", "fast-1", "slow-1")
    run("compare", "fast-1", "slow-1")
    code, text = run("journal")
    assert code == 0
    assert len(text.splitlines()) == 1
    assert "compare:" in text
    assert "baseline fast-1, candidate slow-1, verdict withheld" in text
    code, data = told("journal", "--verb", "compare", "--search", "fast-1")
    assert data["schema"] == "spec-console/journal/1"
    assert data["entries"][0]["outcome"]["verdict"] == "withheld"
    assert told("journal", "--verb", "launch")[1]["entries"] == []


def test_a_damaged_journal_is_said_and_the_verb_goes_on(home):
    path = locate().database
    path.write_bytes(b"no database at all " * 500)
    done = CliRunner().invoke(main, ("runs",))
    assert (done.exit_code, done.stdout) == (0, "")
    assert "was damaged: it is kept as runs.sqlite3.damaged-" in done.stderr


def test_a_comparison_shows_both_numbers_the_interval_and_the_outputs(home):
    code, text = run("compare", "fast-1", "slow-1", "--varies", "disable_cuda_graph", "--outputs")
    assert code == 0
    assert "verdict slower" in text
    assert "by block, n 3 and 3; a slowdown of" in text
    assert "note: candidate: CUDA graphs off: not a benchmark (--disable-cuda-graph)" in text
    assert "outputs: 0 of 1 the same; 120 of 400 tokens before they part" in text
    assert "candidate 116 117 118 119 | 500 501 502 503" in text


def test_several_runs_of_one_configuration_stand_on_a_side(home):
    code, data = told("compare", "fast-1,fast-2", "slow-1")
    assert (code, data["verdict"]) == (0, "withheld")
    assert (data["launches"], data["n"], data["unit"]) == ([2, 1], [6, 3], "block")
    assert data["baseline"]["id"] == "fast-1,fast-2"
    assert run("compare", "fast-1,slow-1", "fast-2")[0] == 2
    assert run("compare", "fast-1,fast-2", "slow-1", "--outputs")[0] == 2


def test_graphs_off_against_on_is_judged_by_what_is_accepted(home):
    code, data = told("compare", "fast-1", "slow-1", "--acceptance")
    assert (code, data["verdict"]) == (0, "agree")
    assert data["a"]["accept_len"] == data["b"]["accept_len"] == 400 / 86
    assert data["outputs"]["divergences"][0]["at"] == 120
    code, text = run("compare", "fast-1", "slow-1", "--acceptance", "--fail-if", "texts_differ")
    assert code == 1
    assert "acceptance agree" in text
    assert "differs disable_cuda_graph: None | true" in text


def test_a_golden_curve_is_a_line_and_a_broken_one_is_refused(home):
    curve = home / "curve.yaml"
    curve.write_text("name: the pair\ncurve: {5: 4.65}\n")
    _, text = run("compare", "fast-1", "slow-1", "--golden", str(curve))
    assert "golden the pair: accept_len 4.65 at 5 steps, measured 4.65 (+0.0 %)" in text
    curve.write_text("name: the pair\n")
    assert run("compare", "fast-1", "slow-1", "--golden", str(curve))[0] == 2
    assert run("compare", "fast-1", "slow-1", "--golden", str(home / "none.yaml"))[0] == 2


def test_a_comparison_is_a_markdown_note_too(home):
    code, text = run("compare", "fast-1", "slow-1", "--markdown", "--outputs")
    assert code == 0
    assert text.startswith("# `slow-1` against `fast-1`")
    assert "## Outputs" in text


@pytest.mark.parametrize(("word", "code"), [("withheld", 1), ("slower", 0)])
def test_any_verdict_is_0_but_for_the_one_that_fails(home, word, code):
    assert run("compare", "fast-1", "slow-1", "--fail-if", word)[0] == code


def test_a_plan_that_was_only_shown_or_not_confirmed_is_kept(home):
    assert run("probe", "--url", "http://127.0.0.1:1", "--dry-run")[0] == 0
    assert run("probe", "--url", "http://127.0.0.1:1")[0] == 5, "nobody is there to confirm it"
    code, data = told("journal", "--verb", "plan")
    refused, shown = data["entries"]
    assert (code, shown["request"]["verb"], shown["outcome"]["answer"]) == (0, "probe", "only shown")
    assert "not confirmed" in refused["outcome"]["answer"]
    assert any("127.0.0.1:1" in each for each in refused["request"]["plan"])
