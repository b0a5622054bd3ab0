"""What starting costs: `python -m tests.bench.startup` prints the figures of design 12 that have a target or a peer.

Medians of several runs on a machine that other work shares: read the ratio, not the milliseconds. What a start took of
a processor core is less shaken by that work, and is told beside it.

The children find their bytecode, as they do behind any first start, of an installed wheel or of a checkout: a run that
is not counted writes it into a folder of this bench. With PYTHONDONTWRITEBYTECODE, or in a checkout whose __pycache__
is older than its files, they would compile instead, which takes several times what is measured here.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import resource
import select
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from console.remote import bundle
from console.remote.bootstrap import AgentSettings
from console.remote.session import Session
from console.remote.transports.asyncssh_ import AsyncsshTransport
from tests import drafts
from tests.e2e import sshd

if TYPE_CHECKING:
    from collections.abc import Callable

RUNS = 9
PROGRAM = [sys.executable, "-c", "from console.cli import main; main()"]
NODE = "gpu-node-1"
KIMI = "torchspec-kimi-k25"


class Took(NamedTuple):
    """What one start took: of the clock, and of processor cores."""

    wall_s: float
    processor_s: float


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SPEC_CONSOLE_HOME"] = folder + "/console"
        os.environ["PYTHONPYCACHEPREFIX"] = folder + "/bytecode"
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        print(f"agent zip            {len(bundle.build().data):>9,} bytes   (target < 150,000)")
        _line("a million squares", min(_squares() for _ in range(RUNS)), "(how fast the machine is now)")
        _starts("python -c pass", lambda: _took([sys.executable, "-c", "pass"]))
        _starts("--help", lambda: _took([*PROGRAM, "--help"]), "(target < 150 ms)")
        _lint(Path(folder))
        _starts("first paint", _first_paint, "(target < 500 ms)")
        _ssh(Path(folder))


def _squares() -> float:
    """A yardstick of nothing but Python: where it takes twice as long as another day, so does all that follows."""
    started, total = time.perf_counter(), 0
    for number in range(1_000_000):
        total += number * number
    return time.perf_counter() - started


def _lint(folder: Path) -> None:
    """The story's draft on a release that captures other layers: its verdict and its fix."""
    drafts.load(KIMI).with_ids(2, 30, 58).write(folder / "pair")
    files = ["--draft", str(folder / "pair" / "draft"), "--target", str(folder / "pair" / "target")]
    words = [*PROGRAM, "lint", "kimi-k2.5-eagle3-debug", *files, "--sglang-version", "0.5.13"]
    _starts("lint", lambda: _took(words, expected=1), "(target < 1 s)")


def _ssh(folder: Path) -> None:
    if sshd.SSHD is None:
        print("no sshd on this machine: connect to hello was not measured")
        return
    server = sshd.start(folder / "sshd")
    os.environ.update(server.environ())
    config = str(server.home / ".ssh" / "config")
    try:
        asyncio.run(_hello())  # uploads the agent
        ours, theirs = [], []
        for _ in range(RUNS):  # in turn, so that a drifting machine hits both
            ours.append(_timed(lambda: asyncio.run(_hello())))
            theirs.append(_timed(lambda: _ran(["ssh", "-F", config, NODE, "python3", "-c", "pass"])))
    finally:
        server.stop()
    ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
    _line("connect to hello", statistics.median(ours), "")
    _line("ssh python3 -c pass", statistics.median(theirs), f"ratio {ratio:.2f} (target <= 1.3)")


async def _hello() -> None:
    session = Session(AsyncsshTransport(NODE), bundle.build(), AgentSettings(python="python3"), reconnect=False)
    await session.open()
    # The hello is here; hanging up is not what is measured, but must not leak.
    await session.close()


def _first_paint() -> Took:
    """From the start of the TUI, on a terminal of its own, until something readable is on the screen."""
    started = time.perf_counter()
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm-256color"
        os.execv(PROGRAM[0], [*PROGRAM, "connect", "demo"])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))
    seen = b""
    deadline = time.monotonic() + 20
    try:
        while b"SIMULATED" not in seen and time.monotonic() < deadline:
            if select.select([terminal], [], [], 0.1)[0]:
                seen += os.read(terminal, 65536)
        painted = Took(time.perf_counter() - started, _processor_s(pid))
    finally:
        _end(pid, terminal)
    if b"SIMULATED" not in seen:
        raise RuntimeError("nothing was painted")
    return painted


def _end(pid: int, terminal: int) -> None:
    os.write(terminal, b"q")
    deadline = time.monotonic() + 10
    while os.waitpid(pid, os.WNOHANG)[0] == 0:
        if time.monotonic() > deadline:
            os.kill(pid, 9)  # our own child, not yet reaped: the pid is its
            os.waitpid(pid, 0)
            break
        if select.select([terminal], [], [], 0.05)[0]:
            try:
                os.read(terminal, 65536)
            except OSError:
                os.waitpid(pid, 0)
                break
    os.close(terminal)


def _processor_s(pid: int) -> float:
    """What all threads of a process took of a core so far: the first field of Linux's schedstat, in ns."""
    return sum(int(each.read_text().split()[0]) for each in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9


def _took(argv: list[str], expected: int = 0) -> Took:
    before = _children_s()
    wall = _timed(lambda: _ran(argv, expected))
    return Took(wall, _children_s() - before)


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _ran(argv: list[str], expected: int = 0) -> None:
    done = subprocess.run(argv, check=False, capture_output=True, stdin=subprocess.DEVNULL)
    assert done.returncode == expected, done.stderr


def _timed(work: Callable[[], None]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _starts(name: str, start: Callable[[], Took], target: str = "") -> None:
    start()  # writes the bytecode, and lays the embedded node out
    took = [start() for _ in range(RUNS)]
    processor = statistics.median(each.processor_s for each in took)
    _line(name, statistics.median(each.wall_s for each in took), f"of a core {processor * 1000:>5.0f} ms   {target}")


def _line(name: str, seconds: float, note: str) -> None:
    print(f"{name:<20} {seconds * 1000:>9.1f} ms      {note}".rstrip())


if __name__ == "__main__":
    main()
