"""Which processes are one server, and what ends it: of one run record, or below one launcher.

SGLang's processes end together: when one dies, the launcher ends the others (sglang.md 4.5), and they die with it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from console.node.holders import Holder

INIT = 1


@dataclass(frozen=True, slots=True)
class ServerGroup:
    """Two or more processes of one server, by pid order."""

    members: tuple[Holder, ...]
    launcher: int | None
    """Its pid; None when it is gone, or not known."""

    @property
    def pids(self) -> frozenset[int]:
        return frozenset(each.pid for each in self.members)

    @property
    def gpus(self) -> tuple[int, ...]:
        """Where the driver lists one of them."""
        return tuple(sorted({index for each in self.members if not each.only_watches for index in each.gpus}))

    @property
    def run_id(self) -> str | None:
        return self.members[0].run_id

    @property
    def words(self) -> str:
        """As "a server of 6 processes on GPUs 0-3"."""
        where = f" on {gpu_list(self.gpus)}" if self.gpus else ""
        return f"a server of {len(self.members)} processes{where}"

    def concerns(self, gpus: Collection[int]) -> bool:
        return not gpus or bool(set(self.gpus) & set(gpus))


def group(holders: Iterable[Holder]) -> tuple[ServerGroup, ...]:
    """Put the processes of each server together; one that stands alone is in none."""
    by_pid = {each.pid: each for each in holders if each.process and (each.role or each.run_id)}
    found: dict[str | int, list[Holder]] = defaultdict(list)
    for each in by_pid.values():
        found[each.run_id or _launcher(each, by_pid) or each.pid].append(each)
    return tuple(
        ServerGroup(tuple(each), next(filter(None, (_launcher(member, by_pid) for member in each)), None))
        for each in found.values()
        if len(each) > 1
    )


def group_of(pid: int, groups: Iterable[ServerGroup]) -> ServerGroup | None:
    return next((each for each in groups if pid in each.pids), None)


def without_strangers(holders: Sequence[Holder]) -> tuple[Holder, ...]:
    """Leave out SGLang's processes of no server that the driver or a run record knows: they are another node's."""
    known = {each.pid for each in holders if each.memory_by_gpu or each.run_id}
    kin = {pid for each in group(holders) if each.pids & known for pid in each.pids}
    return tuple(each for each in holders if each.pid in known | kin)


def flags_for(holder: Holder, groups: Iterable[ServerGroup]) -> str:
    """What has to be said to `free` to end this process and its server; empty where nothing would do.

    It is what the command line of the console takes too. "HOST" in it is the node's name, to be typed out.
    """
    if holder.process is None or holder.kind == "system":
        return ""
    if holder.run_id:
        return f"--server {holder.run_id}"
    server = group_of(holder.pid, groups)
    pid = (server.launcher if server else None) or holder.pid
    if pid == INIT:
        return ""
    foreign = " --include-foreign --confirm-host HOST" if holder.kind == "foreign" else ""
    unproven = " --confirm-host HOST" if not foreign and is_bystander(holder) else ""
    return f"--pid {pid}{foreign}{unproven}"


def is_bystander(holder: Holder) -> bool:
    """Does it hold no GPU memory that the driver lists, and is no process of SGLang or of a run?"""
    return (holder.only_watches or not holder.gpus) and not holder.role and not holder.run_id


def gpu_list(gpus: Sequence[int]) -> str:
    """As "GPU 1" or "GPUs 0-3,6"."""
    runs: list[list[int]] = []
    for index in gpus:
        if runs and index == runs[-1][-1] + 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    told = ",".join(f"{each[0]}-{each[-1]}" if len(each) > 1 else f"{each[0]}" for each in runs)
    return f"GPU{'s' if len(gpus) > 1 else ''} {told}"


def _launcher(holder: Holder, by_pid: Mapping[int, Holder]) -> int | None:
    """The pid of the launcher above it, or itself.

    A rank of a program that is not SGLang's own launcher has that as its parent, which leads their process group.
    Whoever takes in orphans does not.
    """
    seen: set[int] = set()
    top = holder
    while top.process and top.process.ppid in by_pid and top.pid not in seen:
        seen.add(top.pid)
        top = by_pid[top.process.ppid]
    if top.role in (None, "launcher"):
        return top.pid if top.role else None
    assert top.process
    return top.process.ppid if top.process.ppid == top.process.pgid else None
