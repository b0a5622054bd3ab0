"""What a free would end: this operator's servers by default, and only what was chosen beyond them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from console.errors import UsageError
from console.node.free_targets import FREES_NOTHING, Surroundings, Targets
from console.node.holders import describe
from console.node.server_groups import ServerGroup, flags_for, gpu_list, group, group_of
from console.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from console.node.holders import Holder
    from console.node.leftovers import Leftover
    from remote_agent.protocol import ProcessInfo, ServerRun


@dataclass(frozen=True, slots=True)
class FreeRequest:
    """What the user chose. Nothing chosen: every running server of this operator, on the GPUs given."""

    gpus: tuple[int, ...] = ()
    servers: tuple[str, ...] = ()
    pids: tuple[int, ...] = ()
    include_foreign: bool = False
    confirm_host: str | None = None
    """The node's name, typed out: for processes of others, and for those that hold no GPU memory."""
    grace_s: float = 30.0
    verify_timeout_s: float = 60.0
    sweep_shm: bool = False
    """Also remove /dev/shm leftovers of dead pids."""


@dataclass(frozen=True, slots=True)
class FreePlan:
    """Servers to stop, processes to end, and who stays untouched."""

    request: FreeRequest
    servers: tuple[ServerRun, ...]
    processes: tuple[ProcessInfo, ...]
    untouched: tuple[Holder, ...]
    holders: tuple[Holder, ...] = ()
    """Everybody, as it was when the plan was made."""
    leftovers: tuple[Leftover, ...] = ()
    """What a sweep would take from /dev/shm."""
    bystanders: tuple[int, ...] = ()
    """Pids among `processes` whose end frees no GPU."""

    @property
    def is_empty(self) -> bool:
        return not self.servers and not self.processes and not (self.request.sweep_shm and self.leftovers)

    @property
    def groups(self) -> tuple[ServerGroup, ...]:
        return group(self.holders)

    @property
    def taken_along(self) -> tuple[Holder, ...]:
        """Who ends without being ended: what belongs to the server of a process that is."""
        return taken_along(self.groups, {each.identity.pid for each in self.processes})

    def lines(self) -> Iterator[str]:
        """The plan in words; titles are hostile text and come out plain."""
        for run in self.servers:
            pids = ", ".join(str(each.identity.pid) for each in run.children)
            yield f"stop server {run.run_id} on port {run.port}: TERM, {self.request.grace_s:.0f} s, KILL (pids {pids})"
        for process in self.processes:
            yield f"end {describe(process)}: TERM, {self.request.grace_s:.0f} s, KILL"
            yield from self._warnings(process.identity.pid)
        yield from self._left()
        yield from self._totals()
        for each in self.leftovers if self.request.sweep_shm else ():
            yield f"sweep {each.line()}"
        if self.is_empty:
            yield self.nothing

    @property
    def nothing(self) -> str:
        """What is said when there is nothing to end."""
        where = f" on {gpu_list(self.request.gpus)}" if self.request.gpus else ""
        return f"nothing of ours to end{where}"

    def _warnings(self, pid: int) -> Iterator[str]:
        """What ending this process does beside freeing what it holds."""
        holder = next((each for each in self.holders if each.pid == pid), None)
        server = group_of(pid, self.groups) or next((each for each in self.groups if each.launcher == pid), None)
        if holder and server and server.launcher not in (None, *self.request.pids):
            better = flags_for(holder, self.groups)
            instead = f"; {better} lets its launcher end it" if better and better != f"--pid {pid}" else ""
            yield f"warning: pid {pid} belongs to {server.words}: ending one ends the server{instead}"
        elif server and pid == server.launcher:
            yield f"pid {pid} is the launcher of {server.words}: they end with it"
        elif pid in self.bystanders:
            yield f"warning: pid {pid} {FREES_NOTHING}"

    def _left(self) -> Iterator[str]:
        groups, told = self.groups, set[frozenset[int]]()
        for holder in self.untouched:
            server, flags = group_of(holder.pid, groups), flags_for(holder, groups)
            end = f"; end it with {flags}" if flags else ""
            if server is None:
                yield f"leave {holder.kind} {_holder(holder)}{end}"
                continue
            if server.pids not in told:
                told.add(server.pids)
                yield f"leave {server.words}{end}"
            yield f"leave {holder.kind} {_holder(holder)}"

    def _totals(self) -> Iterator[str]:
        """What each GPU is expected to give back, and what stays."""
        ending = {each.identity.pid for run in self.servers for each in run.children}
        ending |= {each.identity.pid for each in self.processes} | {each.pid for each in self.taken_along}
        for index in sorted({index for holder in self.holders for index in holder.gpus}):
            here = [h for h in self.holders if index in h.gpus and h.kind != "system" and not h.only_watches]
            back = [holder for holder in here if holder.pid in ending]
            stays = [holder for holder in here if holder.pid not in ending]
            ends = f"{_sum(back, index)} of {len(back)} processes end"
            yield f"GPU {index}: {ends}, {_sum(stays, index)} of {len(stays)} stay"


def plan(
    request: FreeRequest,
    holders: Sequence[Holder],
    runs: Sequence[ServerRun],
    operator: str,
    around: Surroundings,
    named: Sequence[ProcessInfo],
) -> FreePlan:
    """Choose. `named` are the processes of `request.pids` as they are now.

    Raises:
        UsageError: a server or pid that is not there.
        Refused: a process that is never ended, or one without its confirmation.
    """
    # A launcher that died can leave its ranks behind: the run is over, its processes are not.
    running = [run for run in runs if run.state == "running" or run.children]
    servers = tuple(_servers(request, running, holders, operator))
    targets = Targets(around, holders, runs, named, request.include_foreign, request.confirm_host)
    processes = tuple(targets.choose(pid) for pid in request.pids)
    groups = group(holders)
    ending = {each.identity.pid for run in servers for each in run.children} | set(request.pids)
    ending |= {each.pid for each in taken_along(groups, set(request.pids))}
    untouched = tuple(each for each in holders if each.pid not in ending and _concerns(each, request.gpus, groups))
    bystanders = tuple(each.identity.pid for each in processes if targets.is_bystander(each))
    return FreePlan(request, servers, processes, untouched, tuple(holders), bystanders=bystanders)


def taken_along(groups: Sequence[ServerGroup], pids: set[int]) -> tuple[Holder, ...]:
    """The other processes of the servers of `pids`, where a launcher is there to end them."""
    servers = [each for each in groups if each.launcher and pids & {*each.pids, each.launcher}]
    return tuple(holder for server in servers for holder in server.members if holder.pid not in pids)


def _servers(
    request: FreeRequest, running: Sequence[ServerRun], holders: Sequence[Holder], operator: str
) -> Iterator[ServerRun]:
    if request.servers:
        for run_id in request.servers:
            matching = [run for run in running if run.run_id == run_id or run.run_id.endswith(f"-{run_id}")]
            if not matching:
                known = ", ".join(run.run_id for run in running) or "none is running"
                raise UsageError(f"no running server {run_id!r}", f"Running: {known}.")
            yield matching[0]
    elif not request.pids:
        for run in running:
            if run.operator == operator and _run_concerns(run, holders, request.gpus):
                yield run


def _concerns(holder: Holder, gpus: Collection[int], groups: Sequence[ServerGroup] = ()) -> bool:
    server = group_of(holder.pid, groups)
    return not gpus or bool(set(holder.gpus) & set(gpus)) or bool(server and server.concerns(gpus))


def _run_concerns(run: ServerRun, holders: Sequence[Holder], gpus: Collection[int]) -> bool:
    """A server with no process on any GPU (a CPU server, or one that has not come so far) concerns every choice."""
    mine = [holder for holder in holders if holder.run_id == run.run_id]
    return not gpus or not mine or any(_concerns(holder, gpus) for holder in mine)


def _sum(holders: Sequence[Holder], index: int) -> str:
    used = [dict(holder.memory_by_gpu)[index] for holder in holders]
    return format_bytes(None if None in used else sum(each or 0 for each in used))


def _holder(holder: Holder) -> str:
    used = format_bytes(holder.memory_used_bytes)
    who = describe(holder.process) if holder.process else f"pid {holder.pid} of another pid namespace"
    return f"{who}: {used} on {gpu_list(holder.gpus)}" if holder.gpus else f"{who}: no GPU memory"
