"""Classify who holds GPU memory, and SGLang's processes that hold none: ours, same user, foreign, system, ghost.

Ours means: a run record of *this operator*. A shared account or root does not make a colleague's server ours.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from console.node.titles import role
from console.units import format_seconds, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from remote_agent.protocol import GpuHolder, Identity, ProcessInfo, ServerRun

Kind = Literal["ours", "same-user", "foreign", "system", "ghost"]

SYSTEM_COMMS = frozenset(
    {
        "nvidia-persiste",  # nvidia-persistenced, cut to 15 characters as every comm is
        "nv-fabricmanage",
        "nv-hostengine",
        "dcgm",
        "dcgm-exporter",
        "Xorg",
        "Xwayland",
        "gnome-shell",
        "nvidia-cuda-mps",
    }
)


@dataclass(frozen=True, slots=True)
class Holder:
    """One process on the GPUs, with everything that a decision about it needs."""

    pid: int
    kind: Kind
    memory_by_gpu: tuple[tuple[int, int | None], ...]
    """(GPU index, used bytes), None where the driver does not tell; empty for an SGLang process that holds none."""
    evidence: str
    process: ProcessInfo | None
    run_id: str | None = None
    """The run record that it belongs to, whoever's it is."""
    operator: str | None = None
    role: str | None = None
    """SGLang's word for it: scheduler, detokenizer, launcher, …; None for any other program."""
    doubt: str = ""
    """Why the driver's numbers are not to be trusted."""
    watched: tuple[int, ...] = ()
    """GPUs of which it has the device file open and the driver lists nothing: every CUDA process opens the files of all
    GPUs that it could use, a monitor too."""

    @property
    def gpus(self) -> tuple[int, ...]:
        """Where the driver lists it; where it lists it nowhere, those that it watches."""
        seen = tuple(index for index, _used in self.memory_by_gpu)
        return tuple(index for index in seen if index not in self.watched) or seen

    @property
    def only_watches(self) -> bool:
        """On no GPU does the driver list it: a monitor, or a context that is not told."""
        return bool(self.watched) and len(self.watched) == len(self.memory_by_gpu)

    @property
    def memory_used_bytes(self) -> int | None:
        """Over the GPUs where the driver lists it; None when one of them is unknown."""
        by_gpu = dict(self.memory_by_gpu)
        total = 0
        for index in self.gpus:
            used = by_gpu[index]
            if used is None:
                return None
            total += used
        return total


def classify(
    holders: Iterable[GpuHolder],
    runs: Sequence[ServerRun],
    operator: str,
    uid: int,
    named: Iterable[ProcessInfo] = (),
) -> tuple[Holder, ...]:
    """Group the driver's rows by process and say whose each is, by pid order.

    `named` are processes to look at without GPU memory: those with an SGLang title or command are taken in, since a
    detokenizer that stays behind keeps a port (case C11).
    """
    owner = {member.identity: run for run in runs for member in run.children}
    rows: dict[int, list[GpuHolder]] = defaultdict(list)
    for each in holders:
        rows[each.pid].append(each)
    processes = {pid: mine[0].process for pid, mine in rows.items()}
    for extra in named:
        if extra.identity.pid not in rows and role(extra):
            processes[extra.identity.pid] = extra
    found = (_holder(pid, process, rows.get(pid, []), owner, operator, uid) for pid, process in processes.items())
    return tuple(sorted(found, key=lambda holder: holder.pid))


def describe(process: ProcessInfo) -> str:
    """pid, user, title, age, folder: what tells a colleague's process from a forgotten one."""
    age = format_seconds(process.age_s)
    login = f", login uid {process.loginuid}" if process.loginuid is not None else ""
    title = plain(process.title)[:80]
    return f"pid {process.identity.pid} {title} ({process.user}, {age} old, in {plain(process.cwd or '?')}{login})"


def _holder(
    pid: int,
    process: ProcessInfo | None,
    rows: Sequence[GpuHolder],
    owner: Mapping[Identity, ServerRun],
    operator: str,
    uid: int,
) -> Holder:
    run = owner.get(process.identity) if process else None
    return Holder(
        pid=pid,
        kind=_kind(process, run, operator, uid),
        memory_by_gpu=_memory(rows),
        evidence=", ".join(sorted({each.evidence for each in rows})) or "its title",
        process=process,
        run_id=run.run_id if run else None,
        operator=run.operator if run else None,
        role=role(process) if process else None,
        doubt="; ".join(sorted({each.doubt for each in rows if each.doubt})),
        watched=_watched(rows),
    )


def _kind(process: ProcessInfo | None, run: ServerRun | None, operator: str, uid: int) -> Kind:
    if process is None:
        return "ghost"
    if process.comm in SYSTEM_COMMS:
        return "system"
    if run is not None and run.operator == operator:
        return "ours"
    return "same-user" if process.uid == uid else "foreign"


def _watched(rows: Sequence[GpuHolder]) -> tuple[int, ...]:
    listed = {each.gpu_index for each in rows if each.from_driver}
    return tuple(sorted({each.gpu_index for each in rows} - listed))


def _memory(rows: Iterable[GpuHolder]) -> tuple[tuple[int, int | None], ...]:
    by_gpu: dict[int, int | None] = {}
    for each in rows:
        known = by_gpu.get(each.gpu_index)
        by_gpu[each.gpu_index] = each.memory_used_bytes if known is None else known
    return tuple(sorted(by_gpu.items()))
