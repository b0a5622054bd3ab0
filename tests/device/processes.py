"""Processes by identity: who is in a server's session, who still lives, and a signal that cannot hit a later one.

Reads /proc itself: what the console says of its servers is held against this.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

STEP_S = 0.1
DEAD = ("Z", "X")


@dataclass(frozen=True, slots=True)
class Process:
    """One process; `start_ticks` tells it from a later one with its pid."""

    pid: int
    start_ticks: int
    sid: int
    state: str
    title: str


def look(pid: int) -> Process | None:
    """Return the process that has this pid now, None when there is none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        title = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except OSError:
        return None
    return Process(pid, int(fields[19]), int(fields[3]), fields[0].decode(), title)


def session(sid: int) -> list[Process]:
    """Return the living processes of a session, its leader too."""
    return [each for each in _every() if each.sid == sid and each.state not in DEAD]


def living(processes: Iterable[Process]) -> list[Process]:
    """Return those that have not ended; a zombie has."""
    return [each for each in processes if _same(each) is not None]


def wait_gone(processes: Iterable[Process], timeout_s: float) -> tuple[float, list[Process]]:
    """Wait until all have ended; return the seconds that took, and who is left."""
    started, waiting = time.monotonic(), list(processes)
    while (left := living(waiting)) and time.monotonic() - started < timeout_s:
        time.sleep(STEP_S)
    return round(time.monotonic() - started, 2), left


def send(process: Process, number: signal.Signals) -> bool:
    """Signal exactly this process; False when it is gone."""
    try:
        handle = os.pidfd_open(process.pid)
    except OSError:
        return False
    try:
        if _same(process) is None:
            return False
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, number)
        return True
    finally:
        os.close(handle)


def _same(process: Process) -> Process | None:
    now = look(process.pid)
    if now is None or now.start_ticks != process.start_ticks or now.state in DEAD:
        return None
    return now


def _every() -> Iterator[Process]:
    for name in os.listdir("/proc"):
        if name.isdigit() and (found := look(int(name))):
            yield found
