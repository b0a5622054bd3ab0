"""What a launched server's processes were started with: only variables of the launch, secrets masked on the node."""

from __future__ import annotations

import sys

import pytest

from console.remote.agent import NodeError, NodeUsage
from remote_agent import runs
from remote_agent.protocol import LaunchRequest
from tests.waiting import until

WAIT = "import os, time\nparent = os.getppid()\nwhile os.getppid() == parent: time.sleep(0.05)\n"
"""A child that ends with its parent, as SGLang's do."""
OVERWRITE = """
import ctypes, os, subprocess, sys, time
parent = os.getppid()
if len(sys.argv) > 1:
    fields = open("/proc/self/stat").read().rpartition(")")[2].split()
    start, end = int(fields[47]), int(fields[48])
    ctypes.memset(start, 0, end - start)
    print("over", flush=True)
    while os.getppid() == parent: time.sleep(0.05)
subprocess.Popen([sys.executable, "-c", CODE, "child"])
print("up", flush=True)
time.sleep(600)
"""
"""A child that clears what the kernel shows of its environment, as setproctitle does (proc(5): env_start, env_end)."""


@pytest.fixture
def launch(tmp_path):
    async def started(agent, code: str, words: tuple[str, ...]):
        log = tmp_path / "server.log"
        code = f"CODE = {code!r}\n{code}"  # a child's argv is not to be had on Python 3.8
        env = {"NCCL_PROTO": "LL", "HF_TOKEN": "hf-secret", "LONG": "x" * 5000}
        request = LaunchRequest([sys.executable, "-c", code], env, str(log), 1, "me", secret_env=["HF_TOKEN"])
        run = await agent.launch(request)
        await until(lambda: all(word in log.read_text() for word in words))
        return run

    return started


async def test_a_server_and_its_children_show_what_they_were_started_with(connect, launch, monkeypatch):
    monkeypatch.setenv("OF_THE_USER", "private")
    code = (
        f"import subprocess, sys, time\nsubprocess.Popen([sys.executable, '-c', {WAIT!r}])\nprint('up', flush=True)\n"
    )
    async with connect() as agent:
        run = await launch(agent, f"{code}time.sleep(600)", ("up",))
        try:
            found = await agent.environ(run.run_id, ["NCCL_PROTO", "HF_TOKEN", "LONG", "OF_THE_USER", "PATH", "NO"])
            assert len(found) == 2, "the supervisor is none of them"
            for each in found:
                assert each.values == {"NCCL_PROTO": "LL", "HF_TOKEN": "***", "LONG": "x" * 4096}
                assert each.unread == ""
            assert run.child.pid in [each.pid for each in found]
        finally:
            await agent.stop_server(run.run_id, 1.0, lambda _progress: None)
        assert await agent.environ(run.run_id, ["NCCL_PROTO"]) == []


async def test_what_a_server_inherits_stands_in_its_record(connect, launch, monkeypatch):
    inherited = {
        "SGLANG_SIMULATE_ACC_LEN": "3.5",
        "SGLANG_API_KEY": "sk-private",
        "CUDA_X": "y" * 900,
        "NCCL_PROTO": "x",
    }
    for name, value in {**inherited, "OF_THE_USER": "private"}.items():
        monkeypatch.setenv(name, value)
    async with connect() as agent:
        run = await launch(agent, "import time\nprint('up', flush=True)\ntime.sleep(600)", ("up",))
        try:
            (listed,) = await agent.servers()
        finally:
            await agent.stop_server(run.run_id, 1.0, lambda _progress: None)
    told = {name: value for name, value in run.inherited_env.items() if name in {*inherited, "OF_THE_USER"}}
    assert told == {"SGLANG_SIMULATE_ACC_LEN": "3.5", "SGLANG_API_KEY": "***", "CUDA_X": "y" * 500}
    assert listed.inherited_env == run.inherited_env
    assert run.env["NCCL_PROTO"] == "LL", "the launch's own wins"


def test_hundreds_of_variables_and_bytes_that_are_no_text_are_kept_in_bounds():
    environ = {f"NCCL_{number:03}": "\udcff" for number in range(500)}
    found = runs.inherited(environ, {"NCCL_000": "1"})
    assert (len(found), "NCCL_000" in found) == (64, False)
    assert set(found.values()) == {"?"}


async def test_an_environment_that_was_written_over_is_not_taken_for_an_empty_one(connect, launch):
    async with connect() as agent:
        run = await launch(agent, OVERWRITE, ("up", "over"))
        try:
            found = {each.pid: each for each in await agent.environ(run.run_id, ["NCCL_PROTO"])}
            assert found.pop(run.child.pid).values == {"NCCL_PROTO": "LL"}
            (child,) = found.values()
            assert (child.values, child.unread) == ({}, "its title was written over it")
        finally:
            await agent.stop_server(run.run_id, 1.0, lambda _progress: None)


async def test_only_a_run_of_this_node_is_asked(connect):
    async with connect() as agent:
        with pytest.raises(NodeUsage, match="not a run id"):
            await agent.environ("../../etc", ["PATH"])
        with pytest.raises(NodeError, match="no run"):
            await agent.environ("20261130T010203-a1b2c3", ["PATH"])
