"""The story's loop, over a real sshd, on a real SGLang at TP 2 with the DeepSeek pair (MLA + MoE, EAGLE-3).

The pair's acceptance is known from its weights: over 100 tokens 4.1667 as trained, 1.6393 one layer early, with the
same shapes; the calibrations and the sweep count 400.
The tests stand in the order of the loop and share one server: a start takes twenty seconds.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from console.cli._nodes import open_node
from tests.sglang_cpu.conftest import NODE, Site

pytestmark = [pytest.mark.sglang_cpu, pytest.mark.sshd, pytest.mark.timeout(900)]

HIST = [4, 4, 1, 1, 1, 13]
EARLY_HIST = [52, 1, 0, 0, 0, 8]
TOKENS = 100
BLOCKS = 2


@pytest.fixture(scope="module")
def before(site: Site) -> dict[str, str]:
    return site.tree()


@pytest.fixture(scope="module")
def walked(site: Site, before: dict[str, str]) -> SimpleNamespace:
    code, told, narration = site.run("runbook", NODE, "cpu-deepseek-eagle3-debug", "--yes")
    assert code == 0, narration
    return SimpleNamespace(told=told, steps={step["id"]: step for step in told["steps"]})


def _row(told: dict[str, Any], **wanted: str) -> dict[str, Any]:
    (row,) = [row for row in told["shapes"] if all(row[key] == value for key, value in wanted.items())]
    return dict(row)


def test_every_step_has_its_proof(walked):
    assert {step["state"] for step in walked.steps.values()} == {"done"}
    assert walked.steps["free"]["proof"] == "8/8 GPUs free"
    assert walked.steps["patch"]["proof"] == "4 files overlaid, 4 compiled"
    assert "ready after" in walked.steps["launch"]["proof"]
    assert "last dim 3072 on ranks 2/2" in walked.steps["shapes"]["proof"]


def test_the_target_captures_three_states_on_both_ranks(walked):
    row = _row(walked.told, site="target.aux", model="DeepseekV3ForCausalLM", mode="TARGET_VERIFY")
    assert (row["ranks"], row["shape"], row["verdict"]) == ("2/2", [6, 3 * 1024], "ok")
    assert row["dtype"] == "bfloat16"


def test_fc_is_fed_three_states_on_a_draft_extend(walked):
    row = _row(walked.told, site="draft.fc_in", model="LlamaForCausalLMEagle3", mode="DRAFT_EXTEND_V2")
    assert (row["ranks"], row["shape"], row["verdict"]) == ("2/2", [6, 3 * 1024], "ok")


def test_accept_len_and_histogram_are_those_that_the_weights_predict(walked):
    run = walked.told["run"]
    assert run["valid"]
    assert round(run["accept_len"], 4) == 4.1667
    assert run["accept_hist"] == [BLOCKS * n for n in HIST]
    assert run["completion_tokens"] == BLOCKS * TOKENS


def test_the_comparison_shows_both_numbers_and_what_differs(walked):
    comparison = walked.told["comparison"]
    assert comparison["verdict"] in ("faster", "slower", "cant_tell")
    assert comparison["baseline"]["output_tok_s"] > 0
    assert comparison["candidate"]["output_tok_s"] > 0
    differs = {each["key"]: each["declared"] for each in comparison["differs"]}
    assert differs["speculative_algorithm"]
    assert differs["env.EAGLE3_DEBUG"]


def test_the_same_walk_again_would_use_the_stored_baseline(walked, site):
    code, told, _ = site.run("runs", "--node", NODE)
    assert code == 0
    assert [run["profile"] for run in told["runs"]] == ["cpu-deepseek-eagle3-debug", "cpu-deepseek-baseline"]


async def test_a_connection_killed_in_mid_log_is_resumed_and_the_server_adopted(walked, site, monkeypatch):
    for name, value in site.environ().items():
        monkeypatch.setenv(name, value)
    options: Any = SimpleNamespace(readonly=False, accept_new_host_key=False)
    async with open_node(NODE, options, reconnect=True) as node:
        assert not node.agent.session.uploaded, "the second connect uploads nothing"
        (server,) = await node.running()
        content = Path(server.log_path).read_bytes()
        got, cut = b"", 0
        async with contextlib.aclosing(node.agent.follow(server.log_path)) as parts:
            async for part in parts:
                assert part.offset == len(got)
                got += part.data
                if not cut:
                    cut = site.sshd.cut()
                if len(got) >= len(content):
                    break
        assert cut >= 1
        assert got[: len(content)] == content, "no byte lost or doubled"
        (again,) = await node.running()
        assert (again.run_id, again.child, again.state) == (server.run_id, server.child, "running")
        assert not node.agent.session.uploaded


def test_stop_ends_every_process(walked, site):
    code, told, narration = site.run("stop", NODE, "--yes")
    assert code == 0, narration
    assert told["server"]["state"] == "exited"
    assert told["left"] == []
    assert {gpu["state"] for gpu in told["gpus"]} == {"free"}


def test_the_loop_never_touched_the_tree_and_revert_removes_its_overlay(walked, site, before):
    assert site.tree() == before
    code, told, narration = site.run("patch", "revert", NODE, "--yes")
    assert code == 0, narration
    assert (told["files"], len(told["overlays_removed"])) == ([], 1)
    assert site.tree() == before


def test_one_layer_early_has_the_same_shapes_and_another_accept_len_in_place_too(walked, site, before):
    profile = "cpu-deepseek-eagle3-early"
    code, told, narration = site.run("patch", "apply", NODE, "--profile", profile, "--delivery", "in-place", "--yes")
    assert code == 0, narration
    assert len(told["files"]) == len(site.tree().items() - before.items()) == 4
    code, told, _ = site.run("launch", NODE, profile, "--yes")
    assert (code, "layer-outputs" in told["error"]["hint"]) == (5, True)
    code, _, narration = site.run("launch", NODE, profile, "--yes", "--allow", "layer-outputs")
    assert code == 0, narration
    code, told, narration = site.run("probe", NODE, "--blocks", "1", "--warmup", "0")
    assert code == 0, narration
    assert round(told["run"]["accept_len"], 4) == 1.6393
    assert told["run"]["accept_hist"] == EARLY_HIST
    code, told, _ = site.run("logs", NODE, "--shapes")
    row = _row(told, site="draft.fc_in", model="LlamaForCausalLMEagle3", mode="DRAFT_EXTEND_V2")
    assert (row["ranks"], row["shape"], row["verdict"]) == ("2/2", [6, 3 * 1024], "ok")
    assert "[SPEC_CONSOLE_OVERLAY]" not in Path(told["path"]).read_text()


def test_a_second_launch_names_the_server_that_holds_the_port(walked, site):
    code, told, _ = site.run("launch", NODE, "cpu-deepseek-baseline", "--yes")
    assert code == 5
    assert "port 30123 is held by server " in told["error"]["message"]


def test_a_server_that_dies_at_start_gives_code_cause_and_last_lines(walked, site):
    assert site.run("free", NODE, "--yes")[0] == 0
    code, told, _ = site.run(
        "launch", NODE, "cpu-deepseek-baseline", "--yes", "--set", "attention_backend=no_such_backend",
    )  # fmt: skip
    assert code == 6
    assert "died before it was ready (exit code 2)" in told["error"]["message"]
    assert "no_such_backend" in told["error"]["message"] + told["error"]["detail"]


def test_nothing_is_left(walked, site, before):
    code, _, narration = site.run("patch", "revert", NODE, "--yes")
    assert code == 0, narration
    assert site.tree() == before
    _, told, _ = site.run("status", NODE)
    assert told["patches"] == []
    assert [run for run in told["servers"] if run["children"]] == []
    assert list(site.cpu.root.parent.glob(".*spec-console*")) == []
    assert list(Path("/run/lock").glob("spec-console-*")) == []
    assert list(site.cpu.root.rglob("*spec_console*")) == []
    assert list(site.sshd.home.glob(".local/state/spec-console/*/overlays/*")) == []
