"""The NVML path on a real GPU: inventory, free and verdict of real CUDA processes of ours, and the sampling cost."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from console.actions import free_gpus
from console.actions.node import Node, silent
from console.config import NodeConfig
from console.launch.library import Library
from console.node.free_plan import FreeRequest
from console.remote.agent import Agent
from console.remote.connect import make_session
from console.store.journal import Journal
from remote_agent.protocol import LaunchRequest
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = [pytest.mark.device, pytest.mark.timeout(300)]

GIB = 1 << 30
HOLD = (
    "import torch, time\n"
    "x = torch.empty({gib} << 28, dtype=torch.float32, device='cuda')\n"
    "x.fill_(1); torch.cuda.synchronize(); print('up', flush=True)\n"
    "time.sleep(600)\n"
)
SAMPLES_S = 20.0


@asynccontextmanager
async def connected(folder: Path) -> AsyncIterator[Node]:
    config = NodeConfig(
        transport="local",
        python=(sys.executable,),
        state_dir=str(folder / "state"),
        cache_dir=str(folder / "cache"),
        lock_dir=str(folder),
    )
    session = make_session("local", config, readonly=False, accept_new_host_key=False, reconnect=False)
    node = Node("local", config, Agent(session, "tester@device"), Library(()), Journal(folder / "runs.sqlite3"))
    await session.open()
    try:
        yield node
    finally:
        await session.close()
        node.journal.close()


def report(name: str, **values: object) -> None:
    """Print a figure, and keep it where the caller of the run collects files."""
    line = json.dumps({"figure": name, **values})
    print(line)
    out = os.environ.get("SPEC_CONSOLE_REPORT")
    if out:
        with Path(out).open("a") as file:
            file.write(line + "\n")


async def test_a_real_cuda_server_is_seen_ended_and_its_memory_measured_back(tmp_path):
    log = tmp_path / "server.log"
    async with connected(tmp_path) as node:
        before = await node.inventory()
        assert before.sample.source == "nvml"
        idle = before.sample.gpus[0].memory_used_bytes
        request = LaunchRequest([sys.executable, "-c", HOLD.format(gib=8)], {}, str(log), 1, node.operator)
        run = await node.agent.launch(request)
        await until(lambda: "up" in log.read_text(), 120)
        held = await node.inventory()
        report(
            "inventory",
            idle_bytes=idle,
            holders=[[h.pid, h.kind, h.memory_used_bytes, h.evidence] for h in held.holders],
        )
        assert run.child
        mine = [holder for holder in held.holders if holder.process and holder.process.identity == run.child]
        used = held.sample.gpus[0].memory_used_bytes
        assert used is not None
        assert idle is not None
        assert used - idle >= 8 * GIB
        assert [holder.kind for holder in mine] == ["ours"], held.holders

        started = time.monotonic()
        freeing = FreeRequest(grace_s=10.0, verify_timeout_s=60.0)
        outcome = await free_gpus.run(node, await free_gpus.plan(node, freeing), silent)
        report(
            "free",
            took_s=round(time.monotonic() - started, 2),
            proof=outcome.proof,
            gpus=[g.to_json() for g in outcome.gpus],
        )
        assert outcome.ok, outcome.proof
        (after,) = await node.agent.servers()
        assert (after.state, after.exit_signal, after.children) == ("exited", signal.SIGTERM, [])


async def test_a_real_cuda_process_that_we_did_not_start_is_held_until_it_is_named(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", HOLD.format(gib=2)], stdout=subprocess.PIPE)
    try:
        assert process.stdout
        assert process.stdout.readline() == b"up\n"
        async with connected(tmp_path) as node:
            plain = await free_gpus.run(node, await free_gpus.plan(node, FreeRequest()), silent)
            assert plain.gpus[0].state == "held"
            assert process.poll() is None
            report("held", reason=plain.gpus[0].reason)
            named = FreeRequest(pids=(process.pid,), verify_timeout_s=60.0)
            outcome = await free_gpus.run(node, await free_gpus.plan(node, named), silent)
            assert outcome.ok, outcome.proof
        assert process.wait(10) == -signal.SIGTERM
    finally:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


async def test_sampling_at_1_hz_costs_little(tmp_path):
    async with connected(tmp_path) as node:
        await node.agent.sample()
        pid = node.agent.hello.pid
        before, count = _cpu_s(pid), 0
        started = time.monotonic()
        async with asyncio.timeout(SAMPLES_S + 10):
            async for sample in node.agent.telemetry(1.0):
                assert sample.source == "nvml"
                count += 1
                if time.monotonic() - started > SAMPLES_S:
                    break
        share = (_cpu_s(pid) - before) / (time.monotonic() - started)
        rss = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        report(
            "sampling",
            samples=count,
            gpus=len(sample.gpus),
            cpu_share=round(share, 5),
            agent_rss_mib=round(rss / 2**20, 1),
        )
        assert count >= SAMPLES_S - 2


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
