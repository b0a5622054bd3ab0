"""The agent runs the program that it was sent, with the Python that it was told, in one folder; or says why not."""

from __future__ import annotations

import hashlib

import pytest

from console.errors import Refused, UsageError
from console.remote.agent import NodeError

NAME = "llama-0123456789abcdef"
WRITER = b"""
import json, os, sys
os.makedirs(sys.argv[1])
told = [json.loads(sys.argv[2]), os.environ["CUDA_VISIBLE_DEVICES"], os.environ["GIVEN"], os.getcwd()]
open(sys.argv[1] + "/told.json", "w").write(json.dumps(told))
"""


async def _write(agent, python, program=WRITER, name=NAME, order='{"a": "$(touch /tmp/x); *"}'):
    sha256 = hashlib.sha256(program).hexdigest()
    await agent.put(sha256, program)
    return await agent.write_pair(python, {"GIVEN": "yes", "CUDA_VISIBLE_DEVICES": "0"}, name, sha256, order)


async def test_the_program_gets_folder_order_and_environment_and_no_gpu(connect, tmp_path, python):
    async with connect() as agent:
        folder = await _write(agent, python)
        assert folder == str(tmp_path / "state" / "pairs" / NAME)
        told = await agent.read_file(f"{folder}/told.json")
        assert told == b'[{"a": "$(touch /tmp/x); *"}, "", "yes", "/"]'
        (item,) = [each for each in (await agent.footprint()).items if each.kind == "pair"]
        assert (item.path, item.in_use) == (folder, "")
        (gone,) = await agent.collect([folder])
        assert gone.outcome == "removed"
        assert not (tmp_path / "state" / "pairs" / NAME).exists()


async def test_a_failure_has_the_programs_last_line(connect, python):
    async with connect() as agent:
        with pytest.raises(NodeError, match=r"exit code 1: ModuleNotFoundError: .*no_such_torch"):
            await _write(agent, python, b"import no_such_torch\n")
        with pytest.raises(NodeError, match="cannot be run"):
            await _write(agent, "/no/such/python")


async def test_a_name_that_leads_elsewhere_is_refused(connect, python, tmp_path):
    async with connect() as agent:
        for name in ("../../evil-0123456789abcdef", "llama", "llama-0123456789abcdef/x", ""):
            with pytest.raises(UsageError, match="not a pair's name"):
                await _write(agent, python, name=name)
    assert not (tmp_path / "state" / "pairs").exists()


async def test_a_readonly_agent_writes_nothing(connect, python):
    async with connect("--readonly", "tested") as agent:
        with pytest.raises(Refused, match="read-only"):
            await agent.write_pair(python, {}, NAME, "0" * 64, "{}")
