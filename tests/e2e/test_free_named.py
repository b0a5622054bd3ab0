"""Freeing by pid, over real processes: a whole server goes with one of its ranks, and strangers are no targets."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from console.actions import free_gpus
from console.errors import Refused
from console.node.free_plan import FreeRequest
from tests.cli import free_port
from tests.e2e.test_free_faults import World, freed
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from console.actions.node import Node
    from console.node.holders import Holder

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    yield process
    process.kill()
    process.wait()


@asynccontextmanager
async def by_hand(world: World, ranks: int = 4) -> AsyncIterator[subprocess.Popen[bytes]]:
    """A colleague's server on the embedded node, without a run record."""
    log = world.folder / "by-hand.log"
    words = ["-m", "sglang.launch_server", "--model-path", str(world.demo.home / "models" / "kimi-k2.5-int4")]
    with log.open("wb") as file:
        server = subprocess.Popen(
            [sys.executable, *words, "--tp-size", str(ranks), "--port", str(free_port())],
            env={**os.environ, **world.demo.env, "SPEC_CONSOLE_DEMO_LOAD_S": "0.1"},
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    try:
        await until(lambda: "fired up and ready to roll" in log.read_text())
        yield server
    finally:
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGKILL)  # our own child's group, not yet reaped
        server.wait()


async def holders(node: Node) -> dict[str, list[Holder]]:
    found: dict[str, list[Holder]] = {}
    for each in (await node.inventory()).holders:
        found.setdefault(each.role or "", []).append(each)
    return found


async def test_a_stranger_is_no_target_on_the_embedded_node_and_takes_the_typed_host_name_elsewhere(world, stranger):
    async with world.connect() as node:
        host = (await node.agent.facts()).hostname
        for pid in (stranger.pid, 1, os.getpid(), node.agent.hello.pid):
            with pytest.raises(Refused):
                await freed(node, pids=(pid,), include_foreign=True, confirm_host=host)
        node.config = world.real().config
        for pid in (1, os.getpid(), os.getppid(), node.agent.hello.pid):
            with pytest.raises(Refused, match="is never ended"):
                await free_gpus.plan(node, FreeRequest(pids=(pid,), include_foreign=True, confirm_host=host))
        with pytest.raises(Refused, match="ending it frees no GPU"):
            await freed(node, pids=(stranger.pid,))
        assert stranger.poll() is None
        outcome = await freed(node, pids=(stranger.pid,), confirm_host=host, gpus=(7,))
        assert [each.outcome for each in outcome.terminated] == ["terminated"]


async def test_a_rank_takes_its_server_along_and_all_its_gpus_are_waited_for(world):
    async with by_hand(world) as server, world.connect() as node:
        before = await holders(node)
        assert [len(before[role]) for role in ("launcher", "scheduler", "detokenizer")] == [1, 4, 1]
        default = await freed(node)
        assert (default.ok, default.terminated) == (False, ())
        told = f"a server of 6 processes on GPUs 0-3: end it with --pid {server.pid}"
        assert told in default.lines(), "the remedy stands in the outcome too"
        rank = before["scheduler"][1].pid
        plan = await free_gpus.plan(node, FreeRequest(pids=(rank,), gpus=(1,), grace_s=1.0))
        assert any(f"--pid {server.pid} lets its launcher end it" in line for line in plan.lines())
        outcome = await free_gpus.run(node, plan, lambda _line: None)
        assert outcome.ok, outcome.proof
        assert [gpu.index for gpu in outcome.gpus] == [0, 1, 2, 3], "what the server held is measured too"
        assert [each.pid for each in outcome.terminated] == [rank]
        assert await holders(node) == {}
