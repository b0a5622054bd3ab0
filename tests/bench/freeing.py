"""`python -m tests.bench.freeing`: from "memory is back" to the verdict; what the agent costs at 1 Hz with 8 GPUs."""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from pathlib import Path

from console.actions import free_gpus
from console.actions.node import silent
from console.node.free_plan import FreeRequest
from tests.e2e.test_free_faults import LATE, World

RUNS = 5
SAMPLES_S = 15.0


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        async with world.connect() as node:
            lags = [await _lag(world, node) for _ in range(RUNS)]
            print(f"memory back to verdict   {statistics.median(lags):6.2f} s   (target <= 1 s; {RUNS} runs)")
            own, children = await _share(node)
            print(
                f"agent at 1 Hz, 8 GPUs    {own:6.2%} of a core (target < 1 %), {children:.2%} for the stub nvidia-smi"
            )


async def _lag(world: World, node) -> float:
    """Seconds between the last rank's end, as the stub sees it, and the verdict."""
    await world.launch(node, launcher=LATE)
    plan = await free_gpus.plan(node, FreeRequest(grace_s=20.0))
    run = asyncio.create_task(free_gpus.run(node, plan, silent))
    ranks = [p.identity.pid for server in plan.servers for p in server.children if p.title.startswith("sglang::sched")]
    while any(Path(f"/proc/{pid}/cmdline").exists() and Path(f"/proc/{pid}/cmdline").read_bytes() for pid in ranks):
        await asyncio.sleep(0.01)
    back = time.monotonic()
    outcome = await run
    assert outcome.ok, outcome.proof
    return time.monotonic() - back


async def _share(node) -> tuple[float, float]:
    pid = node.agent.hello.pid
    before, started = _cpu(pid), time.monotonic()
    async for _sample in node.agent.telemetry(1.0):
        if time.monotonic() - started > SAMPLES_S:
            break
    took = time.monotonic() - started
    after = _cpu(pid)
    return (after[0] - before[0]) / took, (after[1] - before[1]) / took


def _cpu(pid: int) -> tuple[float, float]:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    tick = os.sysconf("SC_CLK_TCK")
    return (int(fields[11]) + int(fields[12])) / tick, (int(fields[13]) + int(fields[14])) / tick


if __name__ == "__main__":
    asyncio.run(main())
