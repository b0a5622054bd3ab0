"""What a console costs that stays open: `python -m tests.bench.hours [--hours N]`.

Twelve hours of telemetry at 1 Hz and of an eight-rank debug log at 8 lines/s, in fast time, drawn every minute, one
screen after another: its RSS at each hour and the slope of the last half; about two minutes. Then the real console on
the embedded node, on a terminal of 160 x 50: what it uses of a core while nobody touches it, and how long a key takes
to its paint.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from typing import TYPE_CHECKING

from console.state import events
from console.tui.keys import SCREENS
from tests.bench.terminal import Terminal, cpu_s, rss
from tests.tui.events import FACTS, SHAPE_LINE, Log, busy
from tests.unit.state.samples import holder, telemetry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.state.events import Event
    from console.tui.app import ConsoleApp

PROGRAM = [sys.executable, "-c", "from console.cli import main; main()"]
HOUR_S, DRAWN_S, LINES_S = 3600, 60, 8
IDLE_S, KEYS = 30.0, 200
DECODE = (
    "[2026-11-30 {clock} TP0] Decode batch, #running-req: 1, #token: {tokens}, token usage: 0.02, accept len: 3.40, "
    "accept rate: 0.68, cuda graph: True, gen throughput (token/s): 88.50, #queue-req: 0\n"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=int, default=12)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        os.environ["SPEC_CONSOLE_HOME"] = f"{name}/console"
        asyncio.run(_hours(asked.hours))
        _at_rest()


async def _hours(hours: int) -> None:
    from console.tui.app import ConsoleApp

    app, log, found = ConsoleApp("gpu-node-1", lambda: None), Log(), []  # type: ignore[arg-type,return-value]
    app.connect = lambda _node: None  # type: ignore[method-assign]
    began = time.monotonic()
    async with app.run_test(size=(160, 50)):
        for event in busy(log):
            app.stream.put(event)
        for hour in range(hours):
            for second in range(HOUR_S):
                for event in _second(log, hour * HOUR_S + second):
                    app.stream.put(event)
                if second % DRAWN_S == 0:
                    for event in log.fed():
                        app.stream.put(event)
                    await _drawn(app, SCREENS[second // DRAWN_S % len(SCREENS)])
            found.append(rss(os.getpid()) / 2**20)
    half = found[len(found) // 2 :]
    slope = statistics.linear_regression(range(len(half)), half).slope if len(half) > 1 else 0.0
    told = f"RSS {' '.join(f'{each:.0f}' for each in found)} MB at the hours"
    print(f"{hours} hours in fast time   {told} ({time.monotonic() - began:.0f} s)")
    print(f"slope                  {slope:+.2f} MB an hour over the last {len(half)} (target: flat)")


async def _drawn(app: ConsoleApp, screen: str) -> None:
    """Look at a screen, with everything that has happened. A pilot would wait for an idle process after each key."""
    painted = asyncio.Event()
    app.stream.flush()
    app.go_to(screen)
    app.screen.call_after_refresh(painted.set)
    await painted.wait()


def _second(log: Log, second: int) -> Iterator[Event]:
    clock = time.strftime("%H:%M:%S", time.gmtime(second))
    shapes = (SHAPE_LINE.format(rank=number % 8, seq=second * LINES_S + number) for number in range(LINES_S - 1))
    log.add((DECODE.format(clock=clock, tokens=second % 4096) + "".join(shapes)).encode())
    used = (8 << 30) + (second % 7 << 20)
    yield events.InventoryRead(FACTS, telemetry(*(each for gpu in range(8) for each in (gpu, used))), (), (), 0, "")
    yield events.InventoryRead(FACTS, telemetry(0, used), (holder(0, "foreign", f"job {second}"),), (), 0, "")


def _at_rest() -> None:
    terminal = Terminal([*PROGRAM, "demo"])
    try:
        terminal.until("connected")
        for _ in terminal.each(3.0):
            pass
        before, began = cpu_s([terminal.pid]), time.monotonic()
        for _ in terminal.each(IDLE_S):
            pass
        share = (cpu_s([terminal.pid]) - before) / (time.monotonic() - began)
        print(f"idle                   {100 * share:.1f} % of a core (target < 2 %)")
        taken = sorted(_key(terminal, "234561"[number % 6]) for number in range(KEYS))
        median, p99, most = (1000 * taken[int(share * (len(taken) - 1))] for share in (0.5, 0.99, 1.0))
        told = f"median {median:.0f}, max {most:.0f} of {KEYS} keys, another screen each"
        print(f"key to paint, p99      {p99:.0f} ms   {told} (target < 50 ms)")
    finally:
        terminal.close()


def _key(terminal: Terminal, key: str) -> float:
    """Seconds from a key to the frame that shows its screen as the current one."""
    wanted = "[" + key
    pressed = terminal.type(key)
    for frame in terminal.each(5.0):
        if wanted in frame.text:
            return frame.at - pressed
    raise TimeoutError(f"screen {key} was not shown")


if __name__ == "__main__":
    main()
