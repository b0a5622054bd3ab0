"""Messages about what lies around on a node: shared memory, and our own footprint."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import List, Optional


@dataclass(frozen=True)
class ShmEntry:
    """One file of /dev/shm. `held_by` lists processes that have it open or mapped, as far as that can be read."""

    name: str
    size: int
    uid: int
    user: str
    inode: int
    age_s: float
    held_by: List[int] = field(default_factory=list)


@dataclass(frozen=True)
class ShmList:
    """`shm.list`. `unreadable_pids`: processes that could not be looked into, so that "held by nobody" is not sure.

    `foreign_namespace` is the reason why a dead pid cannot be told here (another pid namespace shares the tmpfs, or
    may); empty when it can.
    """

    unreadable_pids: int
    foreign_namespace: str
    living_pids: List[int] = field(default_factory=list)
    entries: List[ShmEntry] = field(default_factory=list)


@dataclass(frozen=True)
class Swept:
    """`shm.sweep`: what became of one entry: removed, held, changed, denied, gone."""

    name: str
    outcome: str
    reason: str = ""


@dataclass(frozen=True)
class SweptList:
    """`shm.sweep`, `footprint.collect`."""

    entries: List[Swept] = field(default_factory=list)


@dataclass(frozen=True)
class StoredItem:
    """One thing of ours on the node; `in_use` says by what, empty when nothing needs it."""

    kind: str
    """zip, run, overlay, blob, pair, stale (originals of files that were replaced since) or renamed log."""
    name: str
    path: str
    size: int
    age_s: float
    in_use: str
    detail: Optional[str] = None


@dataclass(frozen=True)
class Footprint:
    """`footprint.list`."""

    state_dir: str
    cache_dir: str
    items: List[StoredItem] = field(default_factory=list)


@dataclass(frozen=True)
class PairFolder:
    """`pairs.write`: where the pair lies."""

    path: str
