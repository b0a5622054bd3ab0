"""The whole loop and its errors on the embedded node, by the command line."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli import Console, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

PROFILE = "kimi-k2.5-eagle3-debug"


@pytest.fixture
def console(tmp_path) -> Iterator[Console]:
    made = Console(tmp_path / "home", free_port())
    yield made
    made.leave()


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Console:
    """For what is refused or only shown: nothing is ever started or changed on its node."""
    return Console(tmp_path_factory.mktemp("untouched") / "home", free_port())


@pytest.mark.slow
def test_the_runbook_walks_the_story_with_a_proof_for_each_step(console):
    code, told, narration = console.run("runbook", "demo", PROFILE, "--yes", *console.sets())
    assert code == 0, narration
    assert told["schema"] == "spec-console/runbook/1"
    steps = {step["id"]: step for step in told["steps"]}
    assert list(steps) == ["free", "patch", "baseline", "launch", "probe", "shapes", "compare"]
    assert {step["state"] for step in steps.values()} == {"done"}
    assert steps["free"]["proof"] == "8/8 GPUs free"
    assert steps["patch"]["proof"] == "4 files overlaid, 4 compiled"
    assert "ready after" in steps["launch"]["proof"]
    assert steps["baseline"]["proof"].startswith("made (no run of kimi-k2.5-baseline is stored): run ")
    assert f"goes on, on port {console.port}: `spec-console stop demo --yes` ends it" in narration
    assert "last dim 21504 on ranks 8/8" in steps["shapes"]["proof"]
    run, comparison = told["run"], told["comparison"]
    assert run["fingerprint"]["simulated"] is True
    assert run["output_tok_s"] > 0
    assert 1 < run["accept_len"] <= 6
    assert comparison["verdict"] == "withheld"
    undeclared = {each["key"] for each in comparison["differs"] if not each["declared"]}
    assert "disable_cuda_graph" in undeclared

    code, again, narration = console.run("runbook", "demo", PROFILE, "--yes", *console.sets())
    assert code == 0, narration
    (step,) = [step for step in again["steps"] if step["id"] == "baseline"]
    assert step["proof"].startswith("stored run "), "the second walk uses the stored baseline"
    assert step["proof"].count("run ") == 1, "and names it once"

    code, status, _ = console.run("status", "demo")
    held = [gpu for gpu in status["gpus"] if gpu["state"] == "held"]
    assert len(held) == 8
    assert {holder["kind"] for holder in status["holders"]} == {"ours"}
    code, stopped, _ = console.run("stop", "demo", "--yes")
    assert code == 0
    assert {gpu["state"] for gpu in stopped["gpus"]} == {"free"}
    code, reverted, _ = console.run("patch", "revert", "demo", "--yes")
    assert code == 0
    assert (reverted["files"], len(reverted["overlays_removed"])) == ([], 1)


@pytest.mark.slow
def test_wrong_wiring_stops_the_runbook_with_the_first_cause(console):
    draft = console.home / "data" / "demo" / "drafts" / "output_100k_sglang_four_captures" / "4"
    sets = console.sets(f"speculative.draft_model_path={draft}")
    code, told, _ = console.run(
        "runbook", "demo", PROFILE, "--yes", *sets, "--from", "launch", "--allow", "patch-missing"
    )
    assert code == 5
    assert "captures-mismatch" in told["error"]["hint"]
    rules = ("patch-missing", "captures-mismatch", "layer-outputs")
    allowed = [word for rule in rules for word in ("--allow", rule)]
    code, told, _ = console.run("runbook", "demo", PROFILE, "--yes", *sets, "--from", "launch", *allowed)
    assert code == 6
    assert "mat1 and mat2 shapes cannot be multiplied" in told["error"]["message"]
    assert told["error"]["findings"][0]["rule"] == "captures-mismatch"
    assert "4 captures given, 3 wanted" in told["error"]["hint"]
    assert [step["state"] for step in told["steps"]][-4:] == ["failed", "waiting", "waiting", "waiting"]


def test_an_unknown_profile_key_names_the_nearest(untouched):
    code, told, _ = untouched.run("launch", "demo", PROFILE, "--yes", "--set", "speculative.num_step=2")
    assert code == 2
    assert "num_steps" in told["error"]["message"] + told["error"]["hint"]


def test_an_unknown_profile_names_the_known(untouched):
    code, told, _ = untouched.run("launch", "demo", "kimi-k2.5-eagle", "--yes")
    assert code == 2
    assert "kimi-k2.5-eagle3" in told["error"]["message"] + told["error"]["hint"]


def test_a_preflight_error_refuses_and_says_what_to_do(untouched):
    home = untouched.home
    for set_, told_of in (
        (f"log_path={home}/no/such/dir/x.log", f"log directory {home}/no/such/dir does not exist"),
        (f"model_path={home}/no-model", f"{home}/no-model does not exist on the node"),
        ("python=/no/such/python", "no SGLang for /no/such/python"),
    ):
        code, told, _ = untouched.run("launch", "demo", PROFILE, "--yes", *untouched.sets(set_, "patches=[]"))
        assert code == 5, set_
        assert told_of in told["error"]["message"]
        assert told["error"]["hint"]
    assert untouched.run("status", "demo")[1]["servers"] == []


def test_an_unwritable_log_directory_is_refused(untouched, tmp_path):
    folder = tmp_path / "sealed"
    folder.mkdir(mode=0o500)
    if os.geteuid() == 0:
        folder = Path("/proc")  # where even root cannot make a file
    code, told, _ = untouched.run(
        "launch", "demo", PROFILE, "--yes", *untouched.sets(f"log_path={folder}/x.log", "patches=[]")
    )
    assert code == 5
    assert "cannot be written" in told["error"]["message"]


def test_a_port_in_use_names_its_holder(untouched):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", untouched.port))
        listener.listen()
        code, told, _ = untouched.run("launch", "demo", PROFILE, "--yes", *untouched.sets("patches=[]"))
    assert code == 5
    assert f"port {untouched.port} is held by pid {os.getpid()}" in told["error"]["message"]


def test_without_a_terminal_and_without_yes_nothing_is_done(untouched):
    code, told, _ = untouched.run("patch", "apply", "demo", "eagle3-shapes")
    assert code == 5
    assert "--yes" in told["error"]["hint"]
    assert untouched.run("status", "demo")[1]["patches"] == []


def test_dry_run_shows_the_exact_command_and_starts_nothing(untouched):
    code, told, _ = untouched.run("launch", "demo", PROFILE, "--dry-run", *untouched.sets("patches=[]"))
    assert code == 0
    assert told["argv"][1:3] == ["-m", "sglang.launch_server"]
    assert told["env"]["EAGLE3_DEBUG"] == "1"
    assert untouched.run("status", "demo")[1]["servers"] == []


def test_readonly_refuses_a_launch(untouched):
    code, told, _ = untouched.run("launch", "demo", PROFILE, "--yes", "--readonly", *untouched.sets("patches=[]"))
    assert code == 5
    assert "read-only" in told["error"]["message"]


def test_ctrl_c_leaves_the_server_and_says_so(console):
    console.env["SPEC_CONSOLE_DEMO_LOAD_S"] = "60"
    process = console.start("launch", "demo", PROFILE, "--yes", *console.sets("patches=[]"))
    assert process.stderr
    for line in process.stderr:
        if line.startswith("started server"):
            process.send_signal(signal.SIGINT)
            break
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "goes on there" in err
    assert json.loads(out)["ok"] is False
    _, status, _ = console.run("status", "demo")
    (run,) = status["servers"]
    assert run["state"] == "running"
    assert run["phase"]["name"] in ("starting", "loading"), "a server that loads is told from one that is ready"
    assert run["phase"]["since"] is None


@pytest.mark.slow
def test_patches_come_off_under_a_server_that_goes_on_and_a_killed_one_is_not_ready(console):
    assert console.run("patch", "apply", "demo", "--profile", PROFILE, "--yes")[1]["in_use"] == []
    code, launched, narration = console.run("launch", "demo", PROFILE, "--yes", *console.sets())
    assert code == 0, narration
    server = launched["server"]
    in_place = ("--delivery", "in-place", "--all-models", "--dry-run")
    code, told, _ = console.run("patch", "apply", "demo", "eagle3-shapes", *in_place)
    assert (code, told["in_use"][0].split()[0]) == (0, server["id"])
    assert any(f"server {told['in_use'][0]} runs with this tree: it goes on" in line for line in told["plan"])
    code, told, narration = console.run("patch", "revert", "demo", "--yes")
    assert code == 0
    assert [each.split()[0] for each in told["in_use"]] == [server["id"]]
    assert f"server {told['in_use'][0]} runs with this tree: it goes on with the code" in narration
    assert console.run("logs", "demo")[1]["phase"] == "ready"
    (run,) = console.run("status", "demo")[1]["servers"]
    assert (run["phase"]["name"], bool(run["phase"]["since"])) == ("ready", True)
    os.kill(server["pid"], signal.SIGKILL)
    await_state(console, "exited")
    code, told, narration = console.run("logs", "demo")
    assert (code, told["phase"]) == (0, "exited")
    assert "is no longer there: exited (signal 9)" in narration


def await_state(console: Console, state: str) -> None:
    deadline = time.monotonic() + 30
    while console.run("status", "demo")[1]["servers"][-1]["state"] != state:
        assert time.monotonic() < deadline


def test_a_colleagues_process_is_shown_and_left(console, tmp_path):
    import subprocess
    import sys

    colleague = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        assert console.run("status", "demo")[0] == 0
        told = {"pid": colleague.pid, "gpu": 3, "memory": 41000}
        (console.home / "data" / "demo" / "colleague.json").write_text(json.dumps(told))
        code, freed, _ = console.run("free", "demo", "--yes")
        assert code == 1
        assert [gpu["index"] for gpu in freed["gpus"] if gpu["state"] == "held"] == [3]
        assert colleague.poll() is None
        code, freed, narration = console.run("free", "demo", "--yes", "--pid", str(colleague.pid))
        assert code == 0, narration
        assert colleague.wait(5) == -signal.SIGTERM
    finally:
        colleague.kill()
        colleague.wait()


def test_compare_and_runs_need_no_node(untouched):
    code, told, _ = untouched.run("compare", "@1", "@2")
    assert code == 2
    assert "runs" in told["error"]["hint"]


def test_connect_without_a_terminal_says_which_verbs_to_use(untouched):
    code, told, _ = untouched.run("connect", "demo")
    assert code == 2
    assert "runbook" in told["error"]["hint"]
