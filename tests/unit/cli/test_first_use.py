"""What somebody reads who types a verb for the first time: whole sentences, names that are known, shapes as written."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from console.actions import calibrate
from console.actions.launch_server import LaunchPlan
from console.actions.read_log import LogSource
from console.actions.runbook import RunbookOutcome
from console.cli import logs, main
from console.cli._nodes import open_node
from console.cli._shared import Options, confirm, guarded
from console.cli.logs import shape_lines
from console.cli.runbook import _goes_on
from console.errors import Refused, Unreachable, UsageError
from console.lint.finding import Finding
from console.logs.history import LogHistory
from tests import drafts

if TYPE_CHECKING:
    from pathlib import Path


def launch_plan(*findings: Finding) -> LaunchPlan:
    given: Any = (None, None, findings, ("allowed",), None, {}, None)
    return LaunchPlan(*given)


def test_a_refusal_is_in_whole_sentences_and_eight_gpus_are_one() -> None:
    held = [Finding("gpus-held", "error", f"GPU {n} is held: 1 GiB", "Free it first (`free NODE`).") for n in range(8)]
    port = Finding("port-in-use", "error", "port 1 is held by pid 2", "Stop it (`stop NODE`), or --set port=…")
    refusal = launch_plan(*(each.on("n1") for each in (*held, port)), Finding("allowed", "error", "no")).refusal
    assert refusal is not None
    assert refusal.message == ("not launched: GPU 0 is held: 1 GiB and 7 more [gpus-held]; port 1 is held by pid 2")
    assert refusal.hint == (
        "Free it first (`free n1`). Stop it (`stop n1`), or --set port=… "
        "Or override: --allow gpus-held --allow port-in-use"
    )
    assert launch_plan(Finding("allowed", "error", "no")).refusal is None


@pytest.mark.parametrize("as_json", [True, False])
def test_a_dry_run_that_would_be_refused_shows_its_plan_and_is_5(
    as_json: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SPEC_CONSOLE_HOME", str(tmp_path))
    options = Options("launch", as_json=as_json, yes=True, dry_run=True, readonly=False, accept_new_host_key=False)
    refusal = Refused("not launched: no", "Do this.")
    code = guarded(options, "n1", lambda: confirm(options, ["the plan"], {"argv": ["x"]}, "n1", refusal))
    out, err = capsys.readouterr()
    assert (code, "error: not launched: no" in err) == (5, True)
    if not as_json:
        assert out == "the plan\n"
        return
    import json

    told = json.loads(out)
    assert (told["ok"], told["dry_run"], told["plan"], told["argv"]) == (False, True, ["the plan"], ["x"])
    assert told["error"]["exit_code"] == 5


@pytest.mark.parametrize(("typed", "hint"), [("dmeo", "Did you mean demo?"), ("gpu-ndoe", "Did you mean gpu-node?")])
def test_a_mistyped_node_is_answered_with_the_one_that_is_known(
    typed: str, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPEC_CONSOLE_HOME", str(tmp_path))
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "nodes.yaml").write_text("gpu-node: {}\n")

    async def fails(_session: object) -> None:
        raise Unreachable(f"{typed} cannot be reached", f"Try `ssh {typed}`.")

    monkeypatch.setattr("console.remote.session.Session.open", fails)
    options = Options("status", as_json=False, yes=False, dry_run=False, readonly=False, accept_new_host_key=False)

    async def opened() -> None:
        async with open_node(typed, options, reconnect=False):
            raise AssertionError("it was never there")

    with pytest.raises(Unreachable) as caught:
        asyncio.run(opened())
    assert caught.value.hint == f"Try `ssh {typed}`. {hint}"


def test_shapes_are_written_as_everywhere_else() -> None:
    history = LogHistory(tp_size=1)
    text = "".join(
        f"[EAGLE3_DEBUG] site=target.aux rank=0 model=M mode=EXTEND seq={n} shapes=({n},8);({n},8) dtype=bfloat16"
        " device=cuda:0\n"
        for n in (1, 6)
    )
    history.feed(0, text.encode())
    (row,) = [line for line in shape_lines(history, LogSource("/l", 0, {})) if " EXTEND " in line]
    assert "2 × (n, 8), n in 1…6" in row
    assert "[" not in row


def test_a_walk_says_what_it_leaves_behind() -> None:
    outcome: Any = RunbookOutcome([])
    node: Any = SimpleNamespace(name="demo")
    assert list(_goes_on(node, outcome)) == []
    outcome.server = SimpleNamespace(run_id="s-1", port=18000)
    runs = SimpleNamespace(run_id="a"), SimpleNamespace(run_id="b")
    outcome.comparison = SimpleNamespace(verdict="withheld", baseline=runs[0], candidate=runs[1])
    withheld, server = _goes_on(node, outcome)
    assert "`spec-console compare a b`" in withheld
    assert server == "server s-1 goes on, on port 18000: `spec-console stop demo --yes` ends it"


def test_a_hint_names_the_node_and_the_profile_where_they_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPEC_CONSOLE_HOME", str(tmp_path))
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "nodes.yaml").write_text(
        "gpu: {python: /p, variables: {models: /m, drafts: /d, logs: /l}}\n"
    )
    drafts.load("torchspec-kimi-k25").with_ids(2, 30, 58).write(tmp_path)
    files = ("--draft", str(tmp_path / "draft"), "--target", str(tmp_path / "target"))
    words = ("lint", "kimi-k2.5-eagle3", *files, "--sglang-version", "0.5.13")
    for more, node in (((), "NODE"), (("--node", "gpu"), "gpu")):
        told = CliRunner().invoke(main, (*words, *more)).stdout
        assert f"`draft set {node} --profile kimi-k2.5-eagle3 --trained`" in told
    assert "spec-console sweep gpu PROFILE" in CliRunner().invoke(main, ("sweep", "gpu")).stderr


def test_lint_without_a_release_says_what_names_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPEC_CONSOLE_HOME", str(tmp_path))
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "nodes.yaml").write_text(
        "gpu: {python: /p, variables: {models: /m, drafts: /d, logs: /l}}\n"
    )
    words = ("lint", "kimi-k2.5-eagle3")
    told = CliRunner().invoke(main, words).stdout
    assert "note: which release will serve is not known: give --sglang-version V; `spec-console doctor NODE`" in told
    assert "`spec-console doctor gpu` reads a node's" in CliRunner().invoke(main, (*words, "--node", "gpu")).stdout
    assert "which release" not in CliRunner().invoke(main, (*words, "--sglang-version", "0.5.13")).stdout


def test_a_variable_that_a_node_lacks_is_told_with_the_place_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPEC_CONSOLE_HOME", str(tmp_path))
    done = CliRunner().invoke(main, ("lint", "kimi-k2.5-eagle3", "--node", "gpu-node-1"))
    assert done.exit_code == 2
    assert "give it `variables: {logs: …}` under its name in nodes.yaml (`spec-console config locate`" in done.stderr


async def test_lines_that_none_is_of_are_told_on_stderr(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def none(*_given: object) -> list[object]:
        return []

    monkeypatch.setattr(logs, "_chosen", none)
    options = Options("logs", as_json=False, yes=False, dry_run=False, readonly=False, accept_new_host_key=False)
    asked: Any = SimpleNamespace(lines=None)
    node: Any = SimpleNamespace(name="n")
    selection: Any = None
    assert await logs._choose(node, options, asked, selection, [LogSource("/l", 0, {})]) == 0
    assert capsys.readouterr() == ("", "no line of /l matches\n")


def test_a_calibration_without_a_profile_names_its_node() -> None:
    async def servers() -> tuple[()]:
        return ()

    agent = SimpleNamespace(servers=servers)
    node: Any = SimpleNamespace(name="gpu", operator="me@here", simulated=False, agent=agent)
    with pytest.raises(UsageError) as caught:
        asyncio.run(calibrate.plan(node, calibrate.CalibrateRequest()))
    assert caught.value.hint.startswith("spec-console calibrate gpu --profile ")
