"""The installed SGLang's own parser is asked once for each form of its files, beside everything else."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.waiting import STEP_S

if TYPE_CHECKING:
    from pathlib import Path

SERVER_ARGS = """
import pathlib
with open(pathlib.Path(__file__).parents[2] / "asked", "a") as file:
    file.write("x")
print("INFO: noise", flush=True)

class ServerArgs:
    @staticmethod
    def add_cli_args(parser):
        import argparse
        parser.add_argument("--model-path", "--model")
        parser.add_argument("--hidden", help=argparse.SUPPRESS)
        parser.add_argument("-x", "--tp-size", type=int)
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder for PYTHONPATH with a package that declares flags as SGLang does."""
    srt = tmp_path / "site" / "sglang" / "srt"
    (srt / "arg_groups").mkdir(parents=True)
    (srt / "server_args.py").write_text(SERVER_ARGS)
    (srt / "arg_groups" / "hook.py").write_text("A = 1\n")
    return tmp_path / "site"


async def known(agent, python: str, site: Path):
    """Ask until there is an answer."""
    told = []
    async with asyncio.timeout(60):
        while not told or told[-1].state == "asking":
            told.append(await agent.server_flags(python, str(site / "sglang"), {"PYTHONPATH": str(site)}))
            await asyncio.sleep(STEP_S)
    return told


async def test_flags_are_asked_for_once_and_kept(connect, python, site):
    async with connect() as agent:
        first, *_, last = await known(agent, python, site)
        assert (first.state, last.state) == ("asking", "known")
        assert last.flags == ["help", "hidden", "model", "model-path", "tp-size"]
    async with connect() as agent:
        (told,) = await known(agent, python, site)
        assert told.flags == last.flags
        assert (site / "asked").read_text() == "x"
        assert [item.kind for item in (await agent.footprint()).items if item.kind == "flags"] == ["flags"]
        (site / "sglang" / "srt" / "arg_groups" / "hook.py").write_text("A = 2\n")
        assert (await known(agent, python, site))[-1].state == "known"
        assert (site / "asked").read_text() == "xx", "another form of the files is another SGLang"


async def test_a_parser_that_cannot_be_built_is_said_and_not_tried_again(connect, python, site):
    (site / "sglang" / "srt" / "server_args.py").write_text(f"{SERVER_ARGS}\nraise RuntimeError('no libcuda')\n")
    async with connect() as agent:
        failed = (await known(agent, python, site))[-1]
        assert failed.state == "failed"
        assert failed.error.endswith("RuntimeError: no libcuda")
        (again,) = await known(agent, python, site)
        assert again == failed
        assert (site / "asked").read_text() == "x"


async def test_what_is_no_sglang_or_may_not_be_asked(connect, python, site, tmp_path):
    async with connect() as agent:
        (told,) = await known(agent, python, tmp_path)
        assert "no srt/server_args.py" in told.error
    async with connect("--readonly", "the user asked for it") as agent:
        (told,) = await known(agent, python, site)
        assert told.state == "unknown"
    assert not (site / "asked").exists()
