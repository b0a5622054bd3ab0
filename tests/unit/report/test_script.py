"""The exported script is run: it patches, launches, probes and tells figures, against a stub of `sglang`."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.patches.diff import unified
from console.probe.context import RunContext
from console.probe.fingerprint import PatchRef
from console.probe.prompts import load_prompt_set
from console.probe.workload import Workload
from console.report.script import script
from remote_agent.protocol.probe.prefix import with_prefix
from tests.cli import free_port
from tests.unit.probe.runs import stored

BEFORE, AFTER = b"VALUE = 1\n", b"VALUE = 2  # a patch with 'quotes' and $HOME\n"
SERVER = """
import json, os, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from sglang.model import VALUE

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_error(404, "no request is needed to know that it is ready")

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        asked = json.loads(body) if body else None
        with open(os.environ["SGLANG_SEEN"], "a") as seen:
            seen.write(json.dumps([self.path, self.headers.get("Authorization"), asked]) + "\\n")
        self.answer({"text": "x", "meta_info": {"completion_tokens": 40, "spec_verify_ct": 10}})

    def answer(self, told):
        data = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass

with open(os.environ["SGLANG_SEEN"], "a") as seen:
    seen.write(json.dumps(["launched", sys.argv[1:], [os.environ["NCCL_PROTO"], VALUE]]) + "\\n")
server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])), Handler)
print("The server is fired up and ready to roll!", flush=True)
server.serve_forever()
"""
LOAD = Workload("chat", load_prompt_set("chat"), max_new_tokens=40, requests_per_block=3, warmup=1, concurrency=2)


@pytest.fixture
def tree(tmp_path):
    """A package `sglang` whose server answers as one would."""
    package = tmp_path / "site" / "sglang"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "model.py").write_bytes(BEFORE)
    (package / "launch_server.py").write_text(SERVER)
    return package


def run_script(text, tree, tmp_path, **env):
    path = tmp_path / "again.sh"
    path.write_text(text)
    seen = tmp_path / "seen.jsonl"
    own = {"PATH": os.environ["PATH"], "PYTHONPATH": str(tree.parent), "OUT": str(tmp_path / "out")}
    own |= {"SGLANG_SEEN": str(seen), "PYTHON": sys.executable, "PYTHONDONTWRITEBYTECODE": "1", "READY_S": "30", **env}
    done = subprocess.run(
        ["sh", str(path)], env=own, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    return done, [json.loads(line) for line in seen.read_text().splitlines()] if seen.exists() else []


def a_run(**changes):
    argv = (
        "/opt/venv/bin/python",
        "-m",
        "sglang.launch_server",
        "--model-path",
        "/models/a b",
        "--port",
        str(free_port()),
    )
    given = {
        "argv": (*argv, "--api-key", "secret-value", "--served-model-name=it's $(touch pwned)"),
        "env": {"NCCL_PROTO": "LL 128", "SGLANG_API_KEY": "secret-value"},
        "workload": LOAD.identity(),
        "patches": (PatchRef("eagle3-shapes", "0" * 64),),
    }
    return stored(90.0, 91.0, **{**given, **changes})


CONTEXT = RunContext(diff=unified("model.py", BEFORE, AFTER) + unified("new.py", b"", b"NEW = 1\n", new_file=True))


def test_the_script_patches_launches_probes_and_takes_the_patch_back(tree, tmp_path):
    text = script(a_run(), CONTEXT)
    assert "secret-value" not in text
    done, seen = run_script(text, tree, tmp_path, API_KEY="k3y", SGLANG_API_KEY="k3y")
    assert done.returncode == 0, done.stderr
    launched, *requests = seen
    assert launched[1][:2] == ["--model-path", "/models/a b"]
    assert launched[1][-3:] == ["--api-key", "k3y", "--served-model-name=it's $(touch pwned)"]
    assert launched[2] == ["LL 128", 2], "the environment of the run, and the patched text"
    assert (tree / "model.py").read_bytes() == BEFORE
    assert not (tree / "new.py").exists()
    assert not (tmp_path / "pwned").exists()
    assert [each[0] for each in requests].count("/flush_cache") == 2
    asked = sorted(each[2]["text"] for each in requests if each[0] == "/generate")
    prompts = [LOAD.texts[index] for index in (0, 0, 1, 2, 0, 1, 2)]
    assert asked == sorted(with_prefix(prompt, number) for number, prompt in enumerate(prompts))
    assert {each[1] for each in requests if each[0] == "/generate"} == {"Bearer k3y"}
    sampling = {"max_new_tokens": 40, "temperature": 0.0, "ignore_eos": True}
    assert all(each[2]["sampling_params"] == sampling for each in requests if each[0] == "/generate")
    figures = done.stdout.splitlines()
    assert [line.split(":")[0] for line in figures[:2]] == ["block 1", "block 2"]
    assert figures[2] == "accept_len 4.0000"


def test_a_run_that_was_launched_from_here_has_all_its_variables_but_for_the_overlay():
    env = {"PYTHONPATH": "/state/overlays/x:/my tree", "OMP_NUM_THREADS": "8", "HF_TOKEN": "***", "no name": "x"}
    request = {"env": env, "overlay": "x", "argv": []}
    text = script(a_run(), RunContext(launch={"request": request, "outcome": {}}))
    assert "export PYTHONPATH='/my tree'" in text
    assert "export OMP_NUM_THREADS=8" in text
    assert ': "${HF_TOKEN:?' in text
    assert "no name" not in text
    alone = {**request, "env": {"PYTHONPATH": "/state/overlays/x"}}
    assert "PYTHONPATH" not in script(a_run(), RunContext(launch={"request": alone, "outcome": {}}))


def test_without_its_secrets_it_does_nothing(tree, tmp_path):
    done, seen = run_script(script(a_run(), CONTEXT), tree, tmp_path)
    assert done.returncode != 0
    assert "API_KEY" in done.stderr
    assert seen == []
    assert (tree / "model.py").read_bytes() == BEFORE


def test_a_patch_that_does_not_fit_stops_it_before_anything_is_changed(tree, tmp_path):
    (tree / "model.py").write_text("OTHER = 1\n")
    done, seen = run_script(script(a_run(), CONTEXT), tree, tmp_path, API_KEY="k3y", SGLANG_API_KEY="k3y")
    assert done.returncode != 0
    assert seen == []
    assert (tree / "model.py").read_text() == "OTHER = 1\n"
    assert not (tree / "new.py").exists()


def test_a_patch_whose_diff_was_not_kept_is_asked_for(tree, tmp_path):
    done, seen = run_script(script(a_run(), RunContext()), tree, tmp_path, API_KEY="k3y", SGLANG_API_KEY="k3y")
    assert done.returncode == 1
    assert "eagle3-shapes" in done.stderr
    assert seen == []


def test_a_server_that_ends_is_told_with_its_last_lines(tree, tmp_path):
    (tree / "launch_server.py").write_text("raise SystemExit('out of memory, as it were')\n")
    run = a_run(patches=(), argv=("python3", "-m", "sglang.launch_server"), env={})
    done, _ = run_script(script(run, RunContext()), tree, tmp_path)
    assert done.returncode == 1
    assert "out of memory, as it were" in done.stderr


def test_a_prompt_that_was_not_kept_is_asked_for():
    text = script(a_run(workload=Workload("text", ("mine",)).identity()), CONTEXT)
    assert ': "${PROMPT:?' in text
    changed = {**LOAD.identity(), "prompt_sha256": "0" * 64}
    assert "were others then" in script(a_run(workload=changed), CONTEXT)


def test_a_simulated_or_invalid_run_says_so():
    text = script(a_run(simulated=True, valid=False, why="cancelled"), CONTEXT)
    assert "# SIMULATED" in text
    assert "# The run was not valid: cancelled" in text


HOSTILE = st.text(max_size=30) | st.sampled_from(
    ["'", "$(touch pwned)", "`x`", "\n", "END", "\\", "--api-key", "***", "-m"]
)


@settings(max_examples=15)
@given(st.lists(HOSTILE, max_size=6), HOSTILE, HOSTILE)
def test_whatever_a_run_holds_the_script_is_one_that_sh_reads(argv, name, told):
    run = stored(90.0, argv=tuple(argv), env={"NCCL_X": told, f"NCCL_{name}": "x"}, sglang_version=told)
    run = dataclasses.replace(run, run_id=name, profile=told, node=name)
    text = script(run, RunContext(diff=told)).replace("\0", "")
    done = subprocess.run(["sh", "-n"], input=text.encode("utf-8", "replace"), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    comments = text.split("set -eu")[0]
    assert all(line.startswith("#") for line in comments.splitlines() if line)


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not here")
def test_shellcheck_has_nothing_to_say(tmp_path):
    path = tmp_path / "again.sh"
    path.write_text(script(a_run(), CONTEXT))
    done = subprocess.run(["shellcheck", str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
