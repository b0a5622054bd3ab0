"""GPUs as nvidia-smi prints them, beside the console's own readings; and a process that holds GPU memory."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.device.report import PartFailed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.device.kits import Kit

TIMEOUT_S = 30.0
UP_S = 90.0
NOBODY = 65534
HOLD = """
import sys, time, torch
{account}
device, leave, take = torch.device("cuda", {gpu}), {leave}, {take}
torch.empty(1, device=device)
size = take or torch.cuda.mem_get_info(device)[0] - leave
held = torch.empty(int(size), dtype=torch.uint8, device=device)
held.fill_(1)
torch.cuda.synchronize()
print("up", torch.cuda.mem_get_info(device)[0], flush=True)
time.sleep(900)
"""
PRETEND = """
import time
{account}
print("up 0", flush=True)
time.sleep(900)
"""
ACCOUNT = """
import ctypes, os
os.setgroups([]); os.setgid({uid}); os.setuid({uid})
ctypes.CDLL(None).prctl(4, 1)  # PR_SET_DUMPABLE: /proc shows its new owner, as of any program that this account starts
"""
"""Once Python and torch are loaded: the other account may not be able to read them."""


def used_mib() -> list[int] | None:
    """Return used MiB of each GPU by nvidia-smi; None without it."""
    if shutil.which("nvidia-smi") is None:
        return None
    words = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    return [int(line) for line in done.stdout.split() if line.isdigit()]


def snapshot(path: Path, title: str) -> None:
    """Append what nvidia-smi shows now."""
    if shutil.which("nvidia-smi") is None:
        return
    words = ("nvidia-smi", "--query-compute-apps=pid,process_name,used_memory,gpu_bus_id", "--format=csv")
    shown = [
        subprocess.run(w, capture_output=True, text=True, timeout=TIMEOUT_S, check=False) for w in (words[:1], words)
    ]
    with path.open("a") as file:
        file.write(f"== {title}\n" + "".join(each.stdout + each.stderr for each in shown))


@contextmanager
def holding(
    kit: Kit, gpu: int, *, leave: int = 0, take: int = 0, uid: int | None = None
) -> Iterator[subprocess.Popen[str]]:
    """A CUDA process that holds `take` bytes of a GPU, or all but `leave`; of another account with `uid`.

    On the CPU kit it only sleeps, and the simulated nvidia-smi says that it holds memory. Raises PartFailed.
    """
    account = "" if uid is None else ACCOUNT.format(uid=uid)
    code = (HOLD if kit.has_gpus else PRETEND).format(account=account, gpu=gpu, leave=leave, take=take)
    env = {**{k: v for k, v in os.environ.items() if k != "PYTHONPATH"}, "HOME": "/tmp"}
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd="/", env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    told = kit.demo / "colleague.json" if kit.demo else None
    try:
        if told:
            told.write_text(json.dumps({"pid": process.pid, "gpu": gpu, "memory": (take or 100 * 2**30) >> 20}))
        _wait_up(process)
        yield process
    finally:
        process.kill()
        process.communicate()
        if told:
            told.unlink()


def _wait_up(process: subprocess.Popen[str]) -> None:
    assert process.stdout
    ready, _, _ = select.select([process.stdout], [], [], UP_S)
    line = process.stdout.readline() if ready else ""
    if not line.startswith("up"):
        process.kill()
        raise PartFailed(f"the process that was to hold GPU memory did not come up: {process.communicate()[1][-800:]}")
