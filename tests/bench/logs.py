"""How the log screen keeps up: `python -m tests.bench.logs [--seconds N] [--only burst|steady|big]`.

Eight writers append debug records, as `eagle3-shapes` writes them, to a file on a node that a real sshd makes of this
machine; the real agent follows it, and the real app shows it on a terminal of 160 x 50 that this process reads. The
writers note when they wrote each batch, in shared memory; a line's `seq` on the screen says how old it is. Then a log
of 1 GB and ten million lines: its tail, and a search through all of it, against lnav and grep on the same file.

Everything runs on this machine at once: read the figures with the load that is printed with them.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from console.tui.stream import TICK_S
from tests.bench import frames
from tests.bench.log_writers import BATCH_S, RANKS, Writers
from tests.bench.terminal import Frame, Terminal, cores, cpu_s, is_running, rss, tree
from tests.e2e import sshd

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = [sys.executable, "-c", "from tests.bench.frames import main; main()"]
NODE = "gpu-node-1"
KEY_S = 0.25
"""Mean time between two keys."""
CATCH_UP_S = 60.0
BIG_LINES = 10_000_000
NEEDLES = 100
FIRST, LAST = "the bench begins here", "<<<<this-is-the-last-line>>>>"
_SHOWN = re.compile(r"rank=(\d) model=\w+ mode=\w+ seq=(\d{9}) ")
_SAID = re.compile(r"([\d.]+) ([KMG]?i?B) (behind|not counted yet|in the middle not counted|missed)")
_RECORDS = re.compile(r"([\d,]+) records  ([\d,]+) unclaimed")
_UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_BACK = "‹"
"""What the log shows at its left edge when it is moved sideways: the change that a key is to make."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long the steady writers write")
    parser.add_argument("--only", choices=("steady", "burst", "big"))
    asked = parser.parse_args()
    if sshd.SSHD is None:
        print("no sshd on this machine: nothing was measured")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["SPEC_CONSOLE_HOME"] = str(folder / "console")
        server = sshd.start(folder / "sshd")
        os.environ.update(server.environ())
        try:
            if asked.only in (None, "steady"):
                _live(server, folder / "steady.log", 50_000, asked.seconds)
            if asked.only in (None, "burst"):
                _live(server, folder / "burst.log", 100_000, min(5.0, asked.seconds))
            if asked.only in (None, "big"):
                _big(folder / "big.log", int(BIG_LINES * min(1.0, asked.seconds / 60)))
        finally:
            server.stop()


@contextlib.contextmanager
def _app(notes: Path) -> Iterator[Terminal]:
    """The console on its log screen, connected; its frames are noted when it ends."""
    terminal = Terminal([*PROGRAM, "connect", NODE], **{frames.NOTES: str(notes)})
    try:
        terminal.until(f"{NODE} [^\n]*  connected", 30)
        terminal.type("2")
        terminal.until("launched on this node yet")
        yield terminal
    finally:
        terminal.close()


def _open(terminal: Terminal, path: Path) -> float:
    """Ask for a file; return when."""
    terminal.type("o")
    terminal.until("path of a log file")
    return terminal.type(f"{path}\r")


# Lines that come


@dataclass(slots=True)
class Seen:
    """What was seen on the screen while lines came, and for a while after."""

    frames: list[tuple[float, float]] = field(default_factory=list)
    """When a frame with newer lines came, and when the newest of them was written, in seconds of one clock."""
    keys: list[float] = field(default_factory=list)
    app_rss: int = 0
    fold_rss: int = 0
    said: dict[str, float] = field(default_factory=dict)
    """What the status said, and of how many bytes at most."""


def _live(server: sshd.Sshd, path: Path, rate: int, seconds: float) -> None:
    path.write_text(f"{FIRST}\n")
    print(f"{RANKS} writers, {rate:,} lines/s for {seconds:g} s; load average before: {os.getloadavg()[0]:.2f}")
    notes = path.with_suffix(".frames")
    with _app(notes) as terminal:
        _open(terminal, path)
        terminal.until(FIRST)
        pids = {"app": [terminal.pid], "fold": [pid for pid in tree(terminal.pid) if is_running(pid, b"fold_worker")]}
        pids["sshd, agent"] = [each for pid in server.connections() for each in tree(pid)]
        pids["this bench"] = [os.getpid()]
        before, busy = {name: cpu_s(each) for name, each in pids.items()}, cores()
        reaped = _reaped()
        seen, writers = Seen(), Writers(path, rate, seconds)
        _watch(terminal, writers, seen, pids)
        writers.join()
        after, idle = {name: cpu_s(each) for name, each in pids.items()}, cores()
        spent = {name: after[name] - before[name] for name in pids} | {"writers": _reaped() - reaped}
        _print_pace(writers, seen, rate)
        _print_caught_up(terminal, path, writers, seen, pids)
    _print_frames(frames.noted(notes), writers)
    began, ended = writers.span
    shares = ", ".join(f"{name} {100 * used / (ended - began):.0f} %" for name, used in spent.items())
    loads = [100 * (b[0] - a[0]) / max(1, b[1] - a[1]) for a, b in zip(busy, idle, strict=True)]
    _line("load of the cores", " ".join(f"{load:.0f} %" for load in loads), f"while lines came; of a core: {shares}")
    path.unlink()


def _watch(terminal: Terminal, writers: Writers, seen: Seen, pids: dict[str, list[int]]) -> None:
    """Look at the screen, and press a key now and then, as long as lines are written."""
    is_moved, pressed, next_key = False, None, time.monotonic() + 1.0
    looked = 0.0
    while writers.are_writing:
        for frame in terminal.frames(0.02):
            shown = _take(frame, writers, seen)
            if pressed is not None and shown and (_BACK in frame.text) != is_moved:
                seen.keys.append(frame.at - pressed)
                is_moved, pressed = not is_moved, None
                next_key = frame.at + random.uniform(0.5, 1.5) * KEY_S
        now = time.monotonic()
        if pressed is None and now > next_key:
            pressed = terminal.type("h" if is_moved else "l")
        if now > looked + 0.5:
            looked = now
            _weigh(seen, pids)
    if pressed is not None and time.monotonic() - pressed > 1.0:
        seen.keys.append(time.monotonic() - pressed)  # not answered yet
    if is_moved or pressed is not None:
        terminal.type("hh")


def _take(frame: Frame, writers: Writers, seen: Seen) -> bool:
    """Note what a frame shows; False when it shows no line of the writers."""
    for size, unit, what in _SAID.findall(frame.text):
        seen.said[what] = max(seen.said.get(what, 0.0), float(size) * _UNITS[unit])
    written = [writers.written_at(int(rank), int(seq)) for rank, seq in _SHOWN.findall(frame.text)]
    if written and (not seen.frames or max(written) > seen.frames[-1][1]):
        seen.frames.append((frame.at, max(written)))
    return bool(written)


def _weigh(seen: Seen, pids: dict[str, list[int]]) -> None:
    seen.app_rss = max(seen.app_rss, *(rss(pid) for pid in pids["app"]))
    seen.fold_rss = max(seen.fold_rss, *(rss(pid) for pid in pids["fold"]), 0)


def _print_pace(writers: Writers, seen: Seen, rate: int) -> None:
    began, ended = writers.span
    achieved = writers.lines / (ended - began + BATCH_S)
    _line("writers' own rate", f"{achieved:,.0f} lines/s", f"(asked {rate:,}; {writers.bytes_at(ended):,.0f} bytes)")
    # The screen is the more behind the longer it stands: it is judged just before each new frame.
    live = [(at, old) for (_at, old), (at, _new) in itertools.pairwise(seen.frames) if at <= ended]
    if len(live) < 2:
        print("  too few frames were seen while lines came")
        return
    late = [at - old for at, old in live]
    unseen = [writers.bytes_at(at) - writers.bytes_at(old) for at, old in live]
    _line(
        "behind", f"{max(late):.2f} s", f"at most, p99 {_p99(late):.2f}, median {_p99(late, 0.5):.2f} (target <= 1 s)"
    )
    _line("behind", f"{max(unseen) / 2**20:.1f} MiB", f"at most, p99 {_p99(unseen) / 2**20:.1f} (target: 1 s of lines)")
    gaps = [b - a for (a, _), (b, _) in itertools.pairwise(live)]
    pace = f"coalesced at {1 / TICK_S:.0f} Hz: {TICK_S * 1000:.0f} ms is the least there can be"
    note = f"median {_p99(gaps, 0.5) * 1000:.0f}, max {max(gaps) * 1000:.0f} of {len(gaps):,} frames seen ({pace})"
    _line("frame interval p99", f"{_p99(gaps) * 1000:.0f} ms", note)
    if seen.keys:
        times = f"median {_p99(seen.keys, 0.5) * 1000:.0f}, max {max(seen.keys) * 1000:.0f} of {len(seen.keys)} keys"
        _line("key answered p99", f"{_p99(seen.keys) * 1000:.0f} ms", f"{times} (target <= 100 ms)")
    else:
        print("  no key was answered while lines came")


def _print_frames(made: list[frames.Made], writers: Writers) -> None:
    """Frames of the time in which lines came, as the console itself timed them."""
    began, ended = writers.span
    live = [one for one in made if began <= one.begun <= ended] or made
    for name, values, note in frames.figures(live):
        told = f"median {_p99(values, 0.5) * 1000:.0f}, max {max(values) * 1000:.0f} of {len(live):,} ({note})"
        _line(name, f"{_p99(values) * 1000:.0f} ms", told)


def _print_caught_up(terminal: Terminal, path: Path, writers: Writers, seen: Seen, pids: dict[str, list[int]]) -> None:
    """After the last write: until the last line is on the screen, and until everything is counted."""
    ended = writers.span[1]
    with path.open("rb") as file:
        file.seek(-400, os.SEEK_END)
        rank, seq = _SHOWN.findall(file.read().decode())[-1]
    last, lines = writers.written_at(int(rank), int(seq)), writers.lines + 1
    shown = next((at for at, written in seen.frames if written >= last), None)
    counted, records = None, ("0", "0")
    for frame in terminal.each(CATCH_UP_S):
        _take(frame, writers, seen)
        _weigh(seen, pids)
        if shown is None and seen.frames and seen.frames[-1][1] >= last:
            shown = seen.frames[-1][0]
        if found := _RECORDS.search(frame.text):
            records = (found[1], found[2])
            if int(records[0].replace(",", "")) >= lines:
                counted = frame.at
        if shown and counted:
            break
    none = f"not within {CATCH_UP_S:g} s"
    _line("caught up, on screen", f"{shown - ended:.2f} s" if shown else none, "after the last write (target <= 5 s)")
    note = f"after the last write; {records[0]} records, {records[1]} unclaimed of {lines:,} lines"
    _line("caught up, counted", f"{counted - ended:.2f} s" if counted else none, note)
    both = seen.app_rss + seen.fold_rss
    note = f"app {seen.app_rss / 1e6:.0f}, fold process {seen.fold_rss / 1e6:.0f} (target < 300 MB)"
    _line("RSS at most", f"{both / 1e6:.0f} MB", note)
    said = ", ".join(f"{size / 2**20:.1f} MiB {what}" for what, size in sorted(seen.said.items()))
    print(f"  the status said at most: {said or 'nothing of bytes'}")


# A large file


def _big(path: Path, lines: int) -> None:
    lines = _make_big(path, lines)
    print(f"a log of {path.stat().st_size:,} bytes, {lines:,} lines; load average before: {os.getloadavg()[0]:.2f}")
    with _app(path.with_suffix(".frames")) as terminal:
        asked = _open(terminal, path)
        tail = terminal.until(re.escape(LAST), CATCH_UP_S).at - asked
        # What the reading of the tail takes of a core is not the search's.
        terminal.until("(?m)^(?!.*not counted yet).* records  ")
        terminal.type("/")
        terminal.until("lines to show, of the whole file")
        asked = terminal.type("needle\r")
        first, found = _found(terminal)
        size = rss(terminal.pid)
    grep = _timed(["grep", "-c", "needle", str(path)])
    _line("tail on the screen", f"{tail:.2f} s", _against_lnav(tail, _lnav_tail(path)))
    _line("first match", f"{first - asked:.2f} s", "")
    found -= asked
    lnav = _timed(["lnav", "-n", "-c", ":filter-in needle", str(path)]) if shutil.which("lnav") else None
    ratios = f"{_against_lnav(found, lnav)}; grep -c {grep:.2f} s, ratio {found / grep:.1f}"
    _line("search, last match", f"{found:.2f} s", ratios)
    _line("RSS of the app", f"{size / 1e6:.0f} MB", "(target < 300 MB)")
    path.unlink()


def _found(terminal: Terminal) -> tuple[float, float]:
    """When the first match was told, and when all were and the search was over. Raises TimeoutError."""
    first = None
    for frame in terminal.each(300):
        matches = re.search(r"only needle: ([1-9]\d*)  (searching)?", frame.text)
        if matches and first is None:
            first = frame.at
        if first and matches and int(matches[1]) == NEEDLES and not matches[2]:
            return first, frame.at
    raise TimeoutError("the search did not end")


def _make_big(path: Path, lines: int) -> int:
    """Records of about a hundred bytes; a hundred lines with a needle, the first of them the first line of all.

    Returns how many lines it has.
    """
    head = b"[EAGLE3_DEBUG] site=draft.fc_in rank=%d mode=DRAFT_EXTEND_V2 "
    forms = [head % rank + b"seq=%09d shape=(6,21504) dtype=bfloat16\n" for rank in range(RANKS)]
    chunk = lines // NEEDLES
    form = b"".join(forms[n % RANKS] for n in range(chunk - 1))
    with path.open("wb") as file:
        for number in range(NEEDLES):
            file.write(
                b"[2026-02-20 10:00:%02d TP0] ERROR: needle %09d in a log of many lines\n" % (number % 60, number)
            )
            file.write(form % tuple(range(number * chunk, (number + 1) * chunk - 1)))
        file.write(f"{LAST}\n".encode())
    return NEEDLES * chunk + 1


def _lnav_tail(path: Path) -> float | None:
    if (lnav := shutil.which("lnav")) is None:
        return None
    started = time.monotonic()
    terminal = Terminal([lnav, str(path)])
    try:
        shown = terminal.until_printed(LAST.encode(), 300)
    finally:
        terminal.close()
    return shown - started if shown else None


def _against_lnav(ours: float, theirs: float | None) -> str:
    if theirs is not None:
        return f"lnav {theirs:.2f} s, ratio {ours / theirs:.2f}"
    return "lnav did not show it" if shutil.which("lnav") else "no lnav on this machine: not compared"


def _timed(argv: list[str]) -> float:
    """Seconds that a program takes. Its output goes to a pipe: GNU grep stops at the first match before /dev/null."""
    started = time.monotonic()
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, capture_output=True)
    return time.monotonic() - started


def _reaped() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _p99(values: list[float], part: float = 0.99) -> float:
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def _line(name: str, figure: str, note: str) -> None:
    print(f"  {name:<22} {figure:>16}  {note}".rstrip(), flush=True)


if __name__ == "__main__":
    main()
