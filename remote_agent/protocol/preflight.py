"""Messages about what a launch finds on its node, beyond paths and ports. None is "could not be read", never zero."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, List, Optional


@dataclass(frozen=True)
class GpuHardware:
    """One GPU: what does not change while it works. Clocks are of the SMs."""

    index: int
    name: str
    memory_total_bytes: Optional[int] = None
    bus_id: Optional[str] = None
    """As sysfs names it, `0000:0f:00.0`."""
    numa_node: Optional[int] = None
    power_limit_w: Optional[float] = None
    power_default_w: Optional[float] = None
    clock_max_mhz: Optional[int] = None
    clock_app_mhz: Optional[int] = None
    """The application clock that is set."""
    clock_app_default_mhz: Optional[int] = None
    clock_reasons: Optional[int] = None
    """Why clocks are held down now: bits of nvmlClocksEventReasons."""
    persistence: Optional[bool] = None


@dataclass(frozen=True)
class GpuLink:
    """How two GPUs reach each other, in the words of `nvidia-smi topo -m`: NV…, PIX, PXB, PHB, NODE or SYS."""

    a: int
    b: int
    path: str


@dataclass(frozen=True)
class Hardware:
    """All GPUs of the node; `unread` says by field why something is not told."""

    driver: Optional[str] = None
    cuda: Optional[str] = None
    """The newest CUDA of the driver library that is loaded here, a forward-compatible one included."""
    gpus: List[GpuHardware] = field(default_factory=list)
    links: List[GpuLink] = field(default_factory=list)
    unread: Dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class HubFacts:
    """Where a server would look for models that are named by a hub's id."""

    offline_by: str
    """The variable that forbids downloads; empty: they are allowed."""
    cache: str
    free_bytes: Optional[int]
    missing: List[str] = field(default_factory=list)
    """Ids without weights in the cache."""


@dataclass(frozen=True)
class Preflight:
    """`preflight.facts`: the node as a server that is started now would find it."""

    hardware: Hardware = field(default_factory=Hardware)
    limits: Dict[str, List[int]] = field(default_factory=dict)
    """Soft and hard rlimit of nofile, memlock and nproc; -1 is unlimited."""
    shm_bytes: Optional[int] = None
    shm_free_bytes: Optional[int] = None
    memory_limit_bytes: Optional[int] = None
    """Of the agent's cgroup, or the nearest one above it that has one; None: unlimited, or not read."""
    programs: Dict[str, str] = field(default_factory=dict)
    """Where nvcc, ninja and py-spy are; empty: not found."""
    hub: Optional[HubFacts] = None
    unread: Dict[str, str] = field(default_factory=dict)
