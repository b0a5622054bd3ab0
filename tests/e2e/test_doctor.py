"""The doctor on a node: the files that are installed there are believed before any table, and a launch is refused."""

from __future__ import annotations

import json

import pytest

from tests.cli import Console, free_port

PROFILE = "kimi-k2.5-eagle3-debug"
HOOK = "set_eagle3_layers_to_capture"


@pytest.fixture
def console(tmp_path) -> Console:
    made = Console(tmp_path / "home", free_port())
    assert made.run("status", "demo")[0] == 0, "the first connection writes the demo's tree"
    return made


def findings(console: Console, *sets: str) -> dict[str, dict[str, str]]:
    code, told, narration = console.run("launch", "demo", PROFILE, "--dry-run", *console.sets("patches=[]", *sets))
    found = {each["rule"]: each for each in told["findings"] if each["severity"] == "error"}
    assert code == (5 if found else 0), narration
    assert told["plan"], "what would be refused is shown all the same"
    assert ("error" in told, told["ok"]) == (bool(found), not found)
    return found


@pytest.mark.slow
def test_a_wrapper_whose_hook_was_taken_out(console):
    assert findings(console) == {}
    file = console.home / "data" / "demo" / "site" / "sglang" / "srt" / "models" / "kimi_k25.py"
    file.write_text(file.read_text().replace(HOOK, f"not_{HOOK}"))
    (found,) = findings(console).values()
    assert found["rule"] == "target-without-hook"
    assert found["evidence"] == "read in the installed srt/models/kimi_k25.py"


def test_a_draft_one_layer_early(console):
    draft = console.home / "data" / "demo" / "drafts" / "output_100k_sglang_one_early" / "4"
    assert set(findings(console, f"speculative.draft_model_path={draft}")) == {"layer-outputs"}


@pytest.mark.slow
def test_the_wrong_algorithm_is_refused_and_what_was_found_is_recorded_where_it_is_allowed(console):
    sets = console.sets("speculative.algorithm=EAGLE", "patches=[]")
    code, told, _ = console.run("launch", "demo", PROFILE, "--yes", *sets)
    assert code == 5
    assert "--allow algorithm-for-eagle3" in told["error"]["hint"]
    code, told, narration = console.run("launch", "demo", PROFILE, "--yes", *sets, "--allow", "algorithm-for-eagle3")
    assert code == 0, narration
    (record,) = (console.home / "data" / "demo").rglob("run.json")
    run = json.loads(record.read_text())
    assert "algorithm-for-eagle3" in [each["rule"] for each in run["record"]["findings"]]
    assert console.run("stop", "demo", "--yes")[0] == 0
