"""The rig of a run: its clock, its sites, and the end of everything that it started, by identity."""

from __future__ import annotations

import itertools
import os
import signal
import tarfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from tests.device import processes
from tests.device.report import OutOfTime
from tests.device.site import NODE, Site

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from tests.device.kits import Kit
    from tests.device.report import Part, Report

RESERVE_S = 25.0
"""Kept at the end of a run, to stop what runs and to write what was seen."""
FIRST_PORT = 21000
APART = 1200
"""Between two servers' ports: SGLang takes a port for NCCL up to 1,000 above its own."""
LOG_LIMIT = 14 * 2**20


@dataclass
class Clock:
    """The run's deadline."""

    deadline_s: float
    started: float = field(default_factory=time.monotonic)

    def left(self) -> float:
        return self.deadline_s - (time.monotonic() - self.started) - RESERVE_S

    def at_most(self, seconds: float) -> float:
        """Return `seconds`, or what is left. Raises OutOfTime when nothing is."""
        left = self.left()
        if left < 2:
            raise OutOfTime("the deadline of the run is near")
        return min(seconds, left)


@dataclass
class Rig:
    """Everything that parts use."""

    kit: Kit
    work: Path
    clock: Clock
    report: Report
    sites: list[Site] = field(default_factory=list)
    only: str = ""
    """The tasks of a part that are to be run, as a shell's pattern; empty: all."""
    killed: list[str] = field(default_factory=list)
    """What was left of a site's servers and had to be killed."""
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    @contextmanager
    def site(self, name: str, *, shared: bool = False) -> Iterator[Site]:
        """A console of its own; at the end nothing of it runs, whatever happened."""
        number = next(self._numbers)
        home = self.work / f"{name}-{time.strftime('%H%M%S')}-{os.getpid()}"
        site = Site(name, home, FIRST_PORT + APART * number, self.kit, self.clock, self.report, shared)
        self.sites.append(site)
        try:
            yield site.prepare()
        finally:
            self.killed += stop(site)

    def at_once(self, name: str, tasks: Sequence[tuple[str, Callable[[Rig, Part], None]]]) -> None:
        """Run tasks as parts of their own, as many at a time as the kit allows."""

        def run(task: tuple[str, Callable[[Rig, Part], None]]) -> None:
            with self.report.part(f"{name}.{task[0]}") as part:
                task[1](self, part)

        with ThreadPoolExecutor(max_workers=self.kit.at_once) as pool:
            list(pool.map(run, (task for task in tasks if fnmatchcase(task[0], self.only or "*"))))

    def pack_logs(self) -> None:
        """Bring the servers' logs and the run records home in one file."""
        with tarfile.open(self.report.out / "logs.tar.gz", "w:gz", compresslevel=6) as archive:
            for site in self.sites:
                runs = sorted(site.state.glob("**/runs/*/*.json"))
                named = [(path, path.name) for path in sorted(site.home.glob("logs/*"))]
                named += [(path, f"{path.parent.name}/{path.name}") for path in runs]
                for path, name in named:
                    if path.is_file() and path.stat().st_size < LOG_LIMIT:
                        archive.add(path, f"{site.name}/{name}")


def stop(site: Site) -> list[str]:
    """Kill what a site's servers left; a part that went well has ended them by the console's own verbs."""
    site.note_sessions()
    members = site.members()
    for member in members:
        processes.send(member, signal.SIGKILL)
    processes.wait_gone(members, 10.0)
    return [f"{site.name}: pid {member.pid} {member.title}" for member in members]


__all__ = ["NODE", "Clock", "Rig", "Site", "stop"]
