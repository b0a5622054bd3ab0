"""argv, environment and the shell line of a profile."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.launch.command import Command, render, shell_line

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from console.launch.loader import ResolvedProfile

    Resolved = Callable[..., ResolvedProfile]

words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=0, max_size=20)
names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)


def command_of(argv: list[str], env: dict[str, str], cwd: str | None = None) -> Command:
    return Command(argv=tuple(argv), env=env, log_path="/srv/a b.log", port=1, cwd=cwd)


@given(argv=st.lists(words, min_size=1), env=st.dictionaries(names, words), cwd=st.none() | words.map("/x".__add__))
def test_a_shell_line_reads_back_as_the_same_words(argv: list[str], env: dict[str, str], cwd: str | None) -> None:
    read = shlex.split(shell_line(command_of(argv, env, cwd)))
    start = len(env) + (3 if cwd else 0)
    assert read[start] == "nohup"
    assert read[start + 1 : start + 1 + len(argv)] == argv
    assert read[start + 1 + len(argv) :] == [">", "/srv/a b.log", "2>&1", "&"]
    assert read[start - len(env) : start] == [f"{name}={value}" for name, value in env.items()]
    assert read[: start - len(env)] == (["cd", cwd, "&&"] if cwd else [])


def test_a_real_shell_runs_the_line_with_the_same_words(tmp_path: object) -> None:
    hostile = ["a b", "$(touch x)", "`id`", "'", '"', "\\", "*", "a\nb", "; exit 7", "-n", "é"]
    log = f"{tmp_path}/out put.log"
    script = "import os, sys, json; print(json.dumps([sys.argv[1:], os.environ['A'], os.getcwd()]))"
    command = Command(
        argv=(sys.executable, "-c", script, *hostile), env={"A": "$(id) 'x'"}, log_path=log, port=1, cwd=str(tmp_path)
    )
    for wrap in (False, True):
        subprocess.run(["sh", "-c", shell_line(command, wrap=wrap).removesuffix(" &")], check=True, timeout=30)
        with open(log, encoding="utf-8") as file:
            argv, variable, cwd = json.loads(file.read().splitlines()[-1])
        assert (argv, variable, cwd) == (hostile, "$(id) 'x'", str(tmp_path))


def test_node_variables_that_are_not_filled_in_are_the_shells_and_what_lacks_one_starts_nothing(
    tmp_path: Path, resolved: Resolved
) -> None:
    text = "model_path: ${models}/it's $${x}\npython: ${python}\nlog_path: ${logs}/${name}.log\n"
    text += "args: {zeta: '${home}'}\n"
    line = shell_line(render(resolved(text, variables=None)), filled={"name": "p"}).removesuffix(" &")
    given = {"PATH": os.environ["PATH"], "HOME": "/h o", "python": "echo", "models": "/m m", "logs": str(tmp_path)}
    subprocess.run(["sh", "-c", line], check=True, timeout=30, env=given)
    assert (tmp_path / "p.log").read_text().startswith("-m sglang.launch_server --model-path /m m/it's ${x} --")
    assert "--zeta /h o" in (tmp_path / "p.log").read_text()
    (tmp_path / "p.log").unlink()
    failed = subprocess.run(["sh", "-c", line], env={**given, "models": ""}, capture_output=True, text=True, timeout=30)
    assert failed.returncode != 0
    assert "models" in failed.stderr
    assert (not (tmp_path / "p.log").exists()) or (tmp_path / "p.log").read_text() == ""


def test_flags_come_in_one_order_whatever_the_file_says(resolved: Resolved) -> None:
    text = "port: 1\nargs: {zeta: 1, alpha: [2, x]}\nspeculative: {num_steps: 5, algorithm: EAGLE3}\nmodel_path: /m\n"
    assert render(resolved(text)).argv[3:] == (
        *("--model-path", "/m", "--tp-size", "1", "--port", "1"),
        *("--alpha", "2", "x", "--zeta", "1"),
        *("--speculative-algorithm", "EAGLE3", "--speculative-num-steps", "5"),
    )


def test_free_flags_are_bare_left_out_or_joined(resolved: Resolved) -> None:
    text = (
        "model_path: /m\nargs: {bare: true, gone: false, none: null, float: 0.5, whole: 2.0, minus: -1, text: '--x'}\n"
    )
    argv = render(resolved(text)).argv
    assert argv[argv.index("--bare") :] == ("--bare", "--float", "0.5", "--minus=-1", "--text=--x", "--whole", "2")


def test_gpus_become_the_visible_devices(resolved: Resolved) -> None:
    assert render(resolved("model_path: /m\ngpus: [2, 3]\n")).env == {"CUDA_VISIBLE_DEVICES": "2,3"}
    assert render(resolved("model_path: /m\n")).env == {}


def test_the_nodes_environment_lies_under_the_profiles(resolved: Resolved) -> None:
    command = render(resolved("model_path: /m\nenv: {A: profile}\n"), {"A": "node", "PYTHONPATH": "/standin"})
    assert command.env == {"A": "profile", "PYTHONPATH": "/standin"}


def test_multi_node_keys_are_passed_on(resolved: Resolved) -> None:
    argv = render(
        resolved("model_path: /m\ntp_size: 2\nnnodes: 2\nnode_rank: 0\ndist_init_addr: 10.0.0.1:20000\n")
    ).argv
    assert " --nnodes 2 --node-rank 0 --dist-init-addr 10.0.0.1:20000 " in " ".join(argv)


@pytest.fixture
def secret(resolved: Resolved) -> Command:
    text = "model_path: /m\napi_key: ${MY_KEY}\nsecret_env: {HF_AUTH: '${TOK}'}\nenv: {OTHER_TOKEN: t0p}\n"
    return render(resolved(text, environ={"MY_KEY": "yes", "TOK": "t0ken"}))


def test_secrets_reach_env_and_config_and_never_argv(secret: Command) -> None:
    assert secret.env == {"HF_AUTH": "t0ken", "OTHER_TOKEN": "t0p"}
    assert secret.secret_env == ("HF_AUTH", "OTHER_TOKEN")
    assert secret.missing_secrets == ()
    assert "api" not in " ".join(secret.argv)
    assert secret.secret_config == {"api-key": "yes"}


def test_secrets_are_masked_wherever_a_command_is_shown(secret: Command) -> None:
    shown = shell_line(secret) + shell_line(secret, wrap=True) + repr(secret) + str(secret.masked_env())
    for value in ("t0ken", "t0p", "'yes'"):
        assert value not in shown
    assert secret.masked_env() == {"HF_AUTH": "***", "OTHER_TOKEN": "***"}
    assert shell_line(secret).startswith('HF_AUTH="$HF_AUTH" OTHER_TOKEN="$OTHER_TOKEN" nohup ')
    assert "--config config.yaml >" in shell_line(secret)
    assert shell_line(secret).endswith("&  # config.yaml: a file of mode 0600 with api-key")


def test_no_secrets_no_config(resolved: Resolved) -> None:
    command = render(resolved("model_path: /m\n"))
    assert command.secret_config == {}
    assert "--config" not in shell_line(command)
