"""A CUDA process of another account: seen, told as foreign, left alone; meanwhile what sampling at 1 Hz costs."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from console.cli._nodes import configured
from console.paths import locate
from console.remote.agent import Agent
from console.remote.connect import make_session
from tests.device import gpu
from tests.device.site import NODE

if TYPE_CHECKING:
    from tests.device.report import Part
    from tests.device.rig import Rig
    from tests.device.site import Site

TAKE = 2**30
SAMPLES_S = 30.0
CPU_SHARE, RSS_MIB = 0.01, 30.0


def run(rig: Rig) -> None:
    last = rig.kit.tp_size - 1
    with (
        rig.report.part("foreign") as part,
        rig.site("foreign") as site,
        gpu.holding(rig.kit, last, take=TAKE, uid=gpu.NOBODY) as held,
    ):
        gpu.snapshot(rig.report.out / "nvidia-smi.txt", f"a process of uid {gpu.NOBODY} holds GPU {last}")
        told = site.must(part, "status", NODE).told
        mine = [each for each in told["holders"] if each["pid"] == held.pid]
        part.expect("status: kind of the holder", [each["kind"] for each in mine], ["foreign"])
        part.figure("status: the holder", mine)
        freed = site.verb(part, "free", NODE, "--yes")
        part.expect("free by default: exit code", freed.code, 1)
        part.expect("free by default: state of its GPU", freed.told["gpus"][last]["state"], "held")
        part.figure("free by default: reason", freed.told["gpus"][last]["reason"])
        named = site.verb(part, "free", NODE, "--pid", str(held.pid), "--yes")
        part.expect("free --pid without --include-foreign: exit code", named.code, 5)
        part.expect("it was left alone", held.poll(), None)
        _sample(site, part, rig.clock.at_most(SAMPLES_S))


def _sample(site: Site, part: Part, seconds: float) -> None:
    found = asyncio.run(_telemetry(site, seconds))
    part.figure("agent at 1 Hz", found)
    if site.kit.has_gpus:  # the simulated nvidia-smi is a program of its own, started for each sample
        part.expect(
            "samples in the time", found["samples"], f"{seconds - 3:.0f} or more", ok=found["samples"] >= seconds - 3
        )
        part.expect("source", found["source"], "nvml")
        part.expect("CPU share of one core", found["cpu_share"], f"< {CPU_SHARE}", ok=found["cpu_share"] < CPU_SHARE)
        part.expect("RSS MiB", found["rss_mib"], f"< {RSS_MIB}", ok=found["rss_mib"] < RSS_MIB)


async def _telemetry(site: Site, seconds: float) -> dict[str, Any]:
    config = configured(NODE, locate(site.environ(), site.home))
    session = make_session(NODE, config, readonly=True, accept_new_host_key=False, reconnect=False)
    await session.open()
    try:
        agent = Agent(session, "sampler@device")
        await agent.sample()
        pid, count, source = agent.hello.pid, 0, ""
        before, started = _cpu_s(pid), time.monotonic()
        async with asyncio.timeout(seconds + 10):
            async for sample in agent.telemetry(1.0):
                count, source = count + 1, sample.source
                if time.monotonic() - started > seconds:
                    break
        took = time.monotonic() - started
        rss = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        share = (_cpu_s(pid) - before) / took
    finally:
        await session.close()
    return {
        "seconds": round(took, 1),
        "samples": count,
        "source": source,
        "cpu_share": round(share, 5),
        "rss_mib": round(rss / 2**20, 1),
    }


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
