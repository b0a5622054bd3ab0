"""What a launched server runs is believed from its processes alone."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from console.actions.read_back import read_back
from console.launch.command import Command
from remote_agent.protocol import Identity, ProcessEnviron, ProcessInfo, ServerRun

ARGV = ("/py", "-m", "sglang.launch_server", "--port", "8000")
ENV = {"NCCL_PROTO": "LL", "SPT_NOENV": "1", "HF_TOKEN": "hf-1", "CUDA_VISIBLE_DEVICES": "0,1"}
COMMAND = Command(ARGV, ENV, "/log", 8000, secret_env=("HF_TOKEN",))
SEEN = {**ENV, "HF_TOKEN": "***"}


def process(pid: int, *argv: str) -> ProcessInfo:
    return ProcessInfo(Identity(pid, 1, "b"), 1, pid, 1, 0, "root", "python", list(argv), "S", 1.0)


def told(*environs: ProcessEnviron, argv: tuple[str, ...] = ARGV) -> Any:
    """Read back a server of a launcher (pid 1), two ranks (2, 3) and a detokenizer (4)."""
    ranks = [process(2 + n, f"sglang::scheduler_TP{n}") for n in range(2)]
    children = [process(1, *argv), *ranks, process(4, "sglang::detokenizer")]
    child = Identity(1, 1, "b")
    server = ServerRun("r", "me", [], {}, "/", "/log", 0, 8000, 0.0, "running", child=child, children=children)

    async def environ(run_id: str, names: list[str]) -> list[ProcessEnviron]:
        assert (run_id, set(names)) == ("r", set(ENV))
        return list(environs)

    node: Any = SimpleNamespace(agent=SimpleNamespace(environ=environ))
    return asyncio.run(read_back(node, server, COMMAND, ("NCCL_PROTO", "HF_TOKEN")))


def of(pid: int, **changes: str | None) -> ProcessEnviron:
    title = "sglang::scheduler_TP0" if pid in (2, 3) else "/py -m sglang.launch_server"
    return ProcessEnviron(pid, title, {**SEEN, **changes})


def test_launcher_and_ranks_as_asked():
    found = told(of(1), of(2), of(3), of(4, NCCL_PROTO=None))
    assert found.ok
    assert found.ranks == 2
    assert found.proof == "argv and 4 variables read back: launcher and 2 ranks"


def test_a_rank_with_another_value_is_named():
    found = told(of(1), of(2), of(3, NCCL_PROTO="Simple"))
    assert not found.ok
    assert "NCCL_PROTO is 'Simple' in pid 3 sglang::scheduler_TP0, asked for 'LL'" in found.proof


@pytest.mark.parametrize("name", ["NCCL_PROTO", "HF_TOKEN"])
def test_a_variable_that_got_lost_on_the_way(name):
    found = told(of(1), of(2, **{name: None}), of(3))
    assert f"{name} is not set in pid 2" in found.proof


def test_what_sglang_itself_changes_in_its_ranks_is_none_of_ours():
    assert told(of(1), of(2, CUDA_VISIBLE_DEVICES="0"), of(3, CUDA_VISIBLE_DEVICES="1")).ok
    assert not told(of(1, CUDA_VISIBLE_DEVICES="0"), of(2), of(3)).ok


def test_an_environment_that_cannot_be_read_is_said_and_never_taken_for_right():
    found = told(of(1), of(2), ProcessEnviron(3, "sglang::scheduler_TP1", {}, "its title was written over it"))
    assert found.ok
    assert found.ranks == 1
    assert "NOT of pid 3 sglang::scheduler_TP1 (its title was written over it)" in found.proof


def test_a_launcher_that_is_gone():
    assert "its launcher is not there" in told(of(2), of(3)).proof


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        ((*ARGV[:-1], "8001"), "word 5 of its command is '8001', asked for '8000'"),
        (ARGV[:-1], "word 5 of its command is 'nothing'"),
        ((*ARGV, "--tp-size"), "its command goes on with '--tp-size'"),
        ((*ARGV[:-1], "\x1b[2J"), "␛"),
    ],
)
def test_another_command(argv, sentence):
    assert sentence in told(of(1), of(2), of(3), argv=argv).proof


@pytest.mark.parametrize("argv", [(*ARGV[:-1], "***"), ("sglang::tokenizer_worker",)])
def test_a_masked_word_and_a_title_of_its_own_are_no_contradiction(argv):
    assert told(of(1), of(2), of(3), argv=argv).ok
