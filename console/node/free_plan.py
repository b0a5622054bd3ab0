"""What a free would end: this operator's servers by default, and only what was chosen beyond them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from console.errors import Refused, UsageError
from console.units import format_bytes, format_seconds, plain

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

    @property
    def is_empty(self) -> bool:
        return not self.servers and not self.processes and not (self.request.sweep_shm and self.leftovers)

    def lines(self) -> Iterator[str]:
        """The plan in words; titles are hostile text and come out plain."""
        for run in self.servers:
            pids = ", ".join(str(each.identity.pid) for each in run.children)
            yield f"stop server {run.run_id} on port {run.port}: TERM, {self.request.grace_s:.0f} s, KILL (pids {pids})"
        for process in self.processes:
            yield f"end {describe(process)}: TERM, {self.request.grace_s:.0f} s, KILL"
        for holder in self.untouched:
            choose = f"; end it with --pid {holder.pid}" if holder.kind == "same-user" else ""
            yield f"leave {holder.kind} {_holder(holder)}{choose}"
        yield from self._totals()
        for each in self.leftovers if self.request.sweep_shm else ():
            yield f"sweep {each.line()}"
        if self.is_empty:
            yield "nothing to end"

    def _totals(self) -> Iterator[str]:
        """What each GPU is expected to give back, and what stays."""
        ending = {each.identity.pid for run in self.servers for each in run.children}
        ending |= {each.identity.pid for each in self.processes}
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
    hostname: str,
    uid: int,
    named: Sequence[ProcessInfo],
) -> FreePlan:
    """Choose. `named` are the processes of `request.pids` as they are now; `uid` is the agent's.

    Raises:
        UsageError: a server or pid that is not there.
        Refused: a system process, or a foreign one without its confirmation.
    """
    # A launcher that died can leave its ranks behind: the run is over, its processes are not.
    running = [run for run in runs if run.state == "running" or run.children]
    servers = tuple(_servers(request, running, holders, operator))
    processes = tuple(_named(pid, holders, named, request, hostname, uid) for pid in request.pids)
    ending = {each.identity.pid for run in servers for each in run.children} | set(request.pids)
    untouched = tuple(holder for holder in holders if holder.pid not in ending and _concerns(holder, request.gpus))
    return FreePlan(request, servers, processes, untouched, tuple(holders))


def describe(process: ProcessInfo) -> str:
    """pid, user, title, age, folder: what tells a colleague's process from a forgotten one."""
    age = format_seconds(process.age_s)
    login = f", login uid {process.loginuid}" if process.loginuid is not None else ""
    title = plain(process.title)[:80]
    return f"pid {process.identity.pid} {title} ({process.user}, {age} old, in {plain(process.cwd or '?')}{login})"


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


def _named(
    pid: int,
    holders: Sequence[Holder],
    named: Sequence[ProcessInfo],
    request: FreeRequest,
    hostname: str,
    uid: int,
) -> ProcessInfo:
    holder = next((each for each in holders if each.pid == pid), None)
    process = next((each for each in named if each.identity.pid == pid), holder.process if holder else None)
    if process is None:
        raise UsageError(f"no process {pid} on the node", "`status` lists who holds the GPUs.")
    if holder and holder.kind == "system":
        raise Refused(f"{describe(process)} belongs to the system and is never ended")
    if process.uid != uid:
        _check_foreign(process, request, hostname)
    return process


def _check_foreign(process: ProcessInfo, request: FreeRequest, hostname: str) -> None:
    if not request.include_foreign or request.confirm_host != hostname:
        raise Refused(
            f"{describe(process)} belongs to another user",
            f"It takes --include-foreign --confirm-host {hostname}, and root on the node.",
        )


def _concerns(holder: Holder, gpus: Collection[int]) -> bool:
    return not gpus or bool(set(holder.gpus) & set(gpus))


def _run_concerns(run: ServerRun, holders: Sequence[Holder], gpus: Collection[int]) -> bool:
    """A server with no process on any GPU (a CPU server, or one that has not come so far) concerns every choice."""
    mine = [holder for holder in holders if holder.run_id == run.run_id]
    return not gpus or not mine or any(_concerns(holder, gpus) for holder in mine)


def _sum(holders: Sequence[Holder], index: int) -> str:
    used = [dict(holder.memory_by_gpu)[index] for holder in holders]
    return format_bytes(None if None in used else sum(each or 0 for each in used))


def _holder(holder: Holder) -> str:
    gpus = ",".join(str(index) for index in holder.gpus)
    used = format_bytes(holder.memory_used_bytes)
    who = describe(holder.process) if holder.process else f"pid {holder.pid} of another pid namespace"
    return f"{who}: {used} on GPU {gpus}" if holder.gpus else f"{who}: no GPU memory"
