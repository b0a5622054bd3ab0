"""`python -m tests.bench.inventory`: what a look at a busy node costs it.

A server of eight ranks has some 270 processes with a hundred files and more open in each, and a node that is used for
weeks has a hundred runs behind it. The TUI looks again and again: the agent's share of a core is what colleagues pay.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.e2e.test_free_faults import World

if TYPE_CHECKING:
    from collections.abc import Iterator

PROCESSES, FILES, RUNS, LOOKS = 270, 100, 100, 7


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder, crowd():
        async with World(Path(folder)).connect() as node:
            state_dir = Path((await node.agent.facts()).state_dir)
            for number in range(RUNS):
                _leave(state_dir / "runs" / f"20260101T000000-{number:06x}")
            pid, spent, took = node.agent.hello.pid, [], []
            for _ in range(LOOKS):
                before, started = _cpu(pid), time.monotonic()
                await node.inventory()
                spent.append(_cpu(pid) - before)
                took.append(time.monotonic() - started)
    print(f"one look: {statistics.median(spent):.3f} s of a core, {statistics.median(took):.3f} s")


@contextmanager
def crowd() -> Iterator[None]:
    """Processes of this account with open files, which end with this one."""
    reader, writer = os.pipe()
    files = [os.open(os.devnull, os.O_RDONLY) for _ in range(FILES)]
    started = []
    for _ in range(PROCESSES):
        if (pid := os.fork()) == 0:
            os.close(writer)
            os.read(reader, 1)
            os._exit(0)
        started.append(pid)
    try:
        yield
    finally:
        os.close(writer)
        for each in (*files, reader):
            os.close(each)
        for pid in started:
            os.waitpid(pid, 0)


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _leave(path: Path) -> None:
    """What a server of the past left: its run directory."""
    path.mkdir(parents=True, mode=0o700)
    told = {"kind": "server", "operator": "me@here", "argv": ["sglang"], "env": {}, "cwd": "/", "log_path": "/l"}
    told |= {"log_offset": 0, "port": 1, "started_at": 1.0, "run_id": path.name, "record": {"profile": "p"}}
    (path / "run.json").write_text(json.dumps(told))
    who = {"pid": 1, "start_ticks": 1, "boot_id": Path("/proc/sys/kernel/random/boot_id").read_text().strip()}
    (path / "process.json").write_text(json.dumps({"supervisor": who, "child": who}))
    (path / "exit.json").write_text(json.dumps({"exit_code": 0, "ended_at": 2.0}))


if __name__ == "__main__":
    asyncio.run(main())
