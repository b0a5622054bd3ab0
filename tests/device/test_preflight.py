"""Preflight on real GPUs: what NVML tells of power, clocks and links, against what nvidia-smi prints of them."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from console.remote import bundle
from console.remote.agent import Agent
from console.remote.bootstrap import AgentSettings
from console.remote.session import Session
from console.remote.transports.local import LocalTransport

if TYPE_CHECKING:
    from remote_agent.protocol import Preflight

pytestmark = [pytest.mark.device, pytest.mark.timeout(120)]


def _session(folder: Path, source: str) -> Session:
    args = ("--state-dir", str(folder / "state"), "--lock-dir", str(folder), "--gpu-source", source)
    settings = AgentSettings(python=sys.executable, cache_dir=str(folder / "cache"), args=args)
    return Session(LocalTransport(), bundle.build(), settings, reconnect=False)


async def _facts(folder: Path, source: str) -> tuple[Preflight, float]:
    session = _session(folder, source)
    await session.open()
    try:
        agent = Agent(session, "tester@device")
        await agent.sample()  # opens the driver, which a launch has done before
        started = time.monotonic()
        return await agent.preflight({}, [], "", ""), time.monotonic() - started
    finally:
        await session.close()


async def test_nvml_tells_what_nvidia_smi_prints(tmp_path):
    facts, took_s = await _facts(tmp_path, "nvml")
    hardware = facts.hardware
    line = json.dumps({"figure": "preflight", "took_s": round(took_s, 3), **asdict(facts)})
    print(line)
    out = os.environ.get("SPEC_CONSOLE_REPORT")
    if out:
        with Path(out).open("a") as file:
            file.write(line + "\n")
    assert hardware.driver
    assert hardware.cuda
    assert hardware.gpus
    count = len(hardware.gpus)
    assert "links" not in hardware.unread
    assert len(hardware.links) == count * (count - 1) // 2
    for gpu in hardware.gpus:
        assert gpu.memory_total_bytes
        assert gpu.power_limit_w
        assert gpu.power_default_w
        assert gpu.clock_max_mhz
        assert gpu.persistence is not None
    if shutil.which("nvidia-smi") is None:
        pytest.skip("NVML was judged; no nvidia-smi to compare with")
    by_tool = (await _facts(tmp_path, "smi"))[0].hardware
    assert by_tool.driver == hardware.driver
    same = ("index", "name", "bus_id", "numa_node", "power_limit_w", "power_default_w", "clock_max_mhz", "persistence")
    for mine, theirs in zip(hardware.gpus, by_tool.gpus, strict=True):
        assert [getattr(mine, name) for name in same] == [getattr(theirs, name) for name in same]
    # nvidia-smi counts the NVLinks (NV18); for a launch it matters whether there are any.
    told = {(link.a, link.b): link.path.rstrip("0123456789") for link in by_tool.links}
    assert {(link.a, link.b): link.path for link in hardware.links} == told


async def test_the_cuda_that_torch_was_built_for_is_read_without_importing_it(tmp_path):
    import torch

    session = _session(tmp_path, "none")
    await session.open()
    try:
        facts = await Agent(session, "tester@device").sglang(sys.executable, {})
    finally:
        await session.close()
    assert facts.packages["torch"] == torch.__version__.partition("+")[0]
    assert facts.torch_cuda == torch.version.cuda
