"""The verdict per GPU: free, held (by whom) or unknown (why). "Freed" is a measured state, never a wish."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from console.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from console.node.holders import Holder
    from remote_agent.protocol import GpuSample, TelemetrySample

TOLERANCE_BYTES = 64 * 1024 * 1024
"""Above a GPU's idle reading. A context that is being torn down holds 4 MiB (seen on H200)."""

NAMED = 8
"""Holders of one GPU that its line names."""


@dataclass(frozen=True, slots=True)
class GpuVerdict:
    """One GPU: `state` free, held or unknown, and the reason in words."""

    index: int
    state: Literal["free", "held", "unknown"]
    memory_used_bytes: int | None
    reason: str

    def to_json(self) -> dict[str, Any]:
        return {
            "index": self.index,
            "state": self.state,
            "memory_used_bytes": self.memory_used_bytes,
            "reason": self.reason,
        }


def verdicts(
    sample: TelemetrySample,
    holders: Sequence[Holder],
    *,
    gpus: Collection[int] | None = None,
) -> tuple[GpuVerdict, ...]:
    """Judge the GPUs of `gpus` (None: all) against what each reads with nobody on it, 0 where that was never seen."""
    chosen = [gpu for gpu in sample.gpus if gpus is None or gpu.index in gpus]
    found = [_verdict(gpu, holders) for gpu in chosen]
    missing = sorted(set(gpus or ()) - {gpu.index for gpu in chosen})
    why = sample.reason or "the node does not list it"
    found += [GpuVerdict(index, "unknown", None, f"no reading: {why}") for index in missing]
    return tuple(found)


def is_used(gpu: GpuSample) -> bool | None:
    """Does it read more than with nobody on it? None where the driver does not tell."""
    used = gpu.memory_used_bytes
    return None if used is None else used > (gpu.memory_idle_bytes or 0) + TOLERANCE_BYTES


def _verdict(gpu: GpuSample, holders: Sequence[Holder]) -> GpuVerdict:
    used = gpu.memory_used_bytes
    here = [holder for holder in holders if gpu.index in dict(holder.memory_by_gpu)]
    there = [holder for holder in here if gpu.index not in holder.watched]
    mine = [holder for holder in there if holder.kind != "system" and not is_zombie(holder)]
    if used is None:
        return GpuVerdict(gpu.index, "unknown", None, "the driver does not tell its used memory")
    if mine:
        return GpuVerdict(gpu.index, "held", used, _first([_who(holder, gpu.index) for holder in mine]))
    if gpu.mig:
        return GpuVerdict(gpu.index, "unknown", used, "MIG is on: the sum says nothing about its instances")
    if is_used(gpu):
        return GpuVerdict(gpu.index, "held", used, _unseen(gpu.index, used, here))
    zombies = sum(map(is_zombie, here))
    who = f"{zombies} zombies, harmless: not yet reaped" if zombies else "no process"
    return GpuVerdict(gpu.index, "free", used, f"{format_bytes(used)} used, {who}")


def _unseen(index: int, used: int, here: Sequence[Holder]) -> str:
    """Memory that no process of ours explains, and whom to ask."""
    if any(holder.process and holder.process.comm.startswith("nvidia-cuda-mps") for holder in here):
        return f"{format_bytes(used)} used behind an MPS server, whose clients are not told: ask who runs it"
    if any(map(is_zombie, here)):
        return f"{format_bytes(used)} used; its processes have ended and are not yet reaped: the driver still holds it"
    watching = [_name(holder) for holder in here if index in holder.watched]
    if watching:
        return f"{format_bytes(used)} used; the driver names nobody, the device is open in {_first(watching)}"
    return (
        f"{format_bytes(used)} used by no process that can be seen: a container or another pid namespace, or a context "
        "that the driver lost; ask the node's admin"
    )


def _who(holder: Holder, index: int) -> str:
    used = format_bytes(dict(holder.memory_by_gpu)[index])
    doubt = f" ({holder.doubt})" if holder.doubt else ""
    if holder.process is None:
        return f"{used}: pid {holder.pid} is not of this pid namespace: ask on the host{doubt}"
    stuck = _STATES.get(holder.process.state, "")
    return f"{used}: {_name(holder)}{stuck}{doubt}"


def _first(told: Sequence[str]) -> str:
    """As many as are read: a server of eight ranks has some 270 processes with the device open."""
    more = f"; and {len(told) - NAMED} more" if len(told) > NAMED else ""
    return "; ".join(told[:NAMED]) + more


def _name(holder: Holder) -> str:
    if holder.process is None:
        return f"pid {holder.pid}"
    return f"pid {holder.pid} {holder.process.title[:60]} of {holder.process.user} ({holder.kind})"


def is_zombie(holder: Holder) -> bool:
    """Has it ended, and only waits to be reaped? No signal changes that."""
    return holder.process is not None and holder.process.state in ("Z", "X")


_STATES = {
    "D": ", stuck in the kernel (state D): no signal ends it; ask for a driver reset or reboot",
    "T": ", stopped (state T): SIGKILL ends it, SIGTERM waits until it is continued",
}
