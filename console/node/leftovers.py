"""Leftovers in /dev/shm: entries whose owner is a dead pid, by the few name forms that carry one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from console.units import format_bytes, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remote_agent.protocol import ShmEntry, ShmList

_OWNED = (
    re.compile(r"sem\.loky-(?P<pid>\d+)-\w+"),
    re.compile(r"sgl_shm(?:_\w+?)?_(?P<pid>\d+)_[0-9a-f]{4,}"),
    re.compile(r"torch_(?P<pid>\d+)_\d+(?:_\d+)?"),
    re.compile(r"cuda\.shm\.[0-9a-f]+\.(?P<hex>[0-9a-f]+)\.\d+"),
)
"""Forms with the owner's pid in them: joblib/loky, SGLang's message queue, torch, CUDA IPC (its pid in hex)."""


@dataclass(frozen=True, slots=True)
class Leftover:
    """One entry, and whether a sweep may take it."""

    entry: ShmEntry
    state: Literal["leftover", "in use", "unknown", "foreign"]
    owner_pid: int | None
    reason: str

    def to_json(self) -> dict[str, Any]:
        entry = self.entry
        return {
            "name": entry.name,
            "size": entry.size,
            "user": entry.user,
            "owner_pid": self.owner_pid,
            "state": self.state,
            "reason": self.reason,
        }

    def line(self) -> str:
        return f"/dev/shm/{plain(self.entry.name)} {format_bytes(self.entry.size)} {self.state}: {self.reason}"


def owner_pid(name: str) -> int | None:
    """The pid that an entry's name carries; None for names of no known form."""
    for form in _OWNED:
        match = form.fullmatch(name)
        if match:
            parts = match.groupdict()
            return int(parts["pid"]) if parts.get("pid") else int(parts["hex"], 16)
    return None


def judge(found: ShmList, uid: int) -> tuple[Leftover, ...]:
    """Judge every entry; only a "leftover" may be swept."""
    living = set(found.living_pids)
    return tuple(_judge(entry, found, living, uid) for entry in found.entries)


def sweepable(judged: Sequence[Leftover]) -> tuple[ShmEntry, ...]:
    return tuple(each.entry for each in judged if each.state == "leftover")


def _judge(entry: ShmEntry, found: ShmList, living: set[int], uid: int) -> Leftover:
    owner = owner_pid(entry.name)
    if entry.held_by:
        return Leftover(entry, "in use", owner, f"held by pids {entry.held_by}")
    if entry.uid != uid:
        return Leftover(entry, "foreign", owner, f"belongs to {plain(entry.user)}")
    if owner is None:
        return Leftover(entry, "unknown", None, "its name tells no owner")
    if owner in living:
        return Leftover(entry, "in use", owner, f"pid {owner} lives")
    if found.foreign_namespace:
        return Leftover(entry, "unknown", owner, found.foreign_namespace)
    return Leftover(entry, "leftover", owner, f"pid {owner} is dead and nobody holds it")
