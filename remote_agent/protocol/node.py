"""Messages about the node: processes, facts, GPUs, telemetry."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, List, Optional


@dataclass(frozen=True)
class Identity:
    """A process that cannot be mistaken for a later one with the same pid."""

    pid: int
    start_ticks: int
    boot_id: str


@dataclass(frozen=True)
class ProcessInfo:
    """One process as /proc tells it; None where it could not be read."""

    identity: Identity
    ppid: int
    pgid: int
    sid: int
    uid: int
    user: str
    comm: str
    argv: List[str]
    state: str
    age_s: float
    cwd: Optional[str] = None
    loginuid: Optional[int] = None
    cgroup: Optional[str] = None
    rss_bytes: Optional[int] = None
    pid_namespace: Optional[int] = None
    """Inode of its pid namespace; None where it may not be read."""

    @property
    def title(self) -> str:
        """The command line, which a program may have written over; without one the name."""
        return " ".join(self.argv).strip() or f"[{self.comm}]"


@dataclass(frozen=True)
class Hello:
    """`agent.hello`, the first line on the wire."""

    magic: str
    protocol: int
    sha256: str
    pid: int
    python: str
    boot_id: str
    machine_id: str
    readonly: bool
    readonly_reason: str


@dataclass(frozen=True)
class NodeFacts:
    """`node.facts`: what the node is."""

    hostname: str
    user: str
    uid: int
    kernel: str
    os: str
    cpu_count: int
    memory_total_bytes: int
    machine_id: str
    boot_id: str
    state_dir: Optional[str]
    cache_dir: Optional[str]
    home: str
    lock_scope: str
    """"node" where other accounts see the writer lock, "user" where they do not."""
    pidfd: bool
    gpu_source: str
    gpu_source_reason: str
    pid_namespace: Optional[int] = None
    """Inode of the agent's own; 4026531836 is the host's first one (Linux, PROC_PID_INIT_INO)."""
    lock_holder: str = ""
    """Who holds the writer lock just now, and for what; empty while nobody does."""


@dataclass(frozen=True)
class SGLangFacts:
    """`node.sglang`: the SGLang that a Python would import, found without importing it."""

    python: str
    python_version: str
    version: Optional[str]
    root: Optional[str]
    """The folder of the package `sglang`."""
    error: str
    packages: Dict[str, str] = field(default_factory=dict)
    git_head: Optional[str] = None
    git_dirty: Optional[bool] = None
    torch_cuda: Optional[str] = None
    """The CUDA that the installed torch was built for, "12.9"; None: no torch, or built without."""


@dataclass(frozen=True)
class ServerFlags:
    """`node.server_flags`: the flags that the installed SGLang's own parser declares.

    `state` is known, asking (come again later), failed (`error` says why) or unknown (nobody may ask).
    """

    state: str
    flags: List[str] = field(default_factory=list)
    """Full names without dashes, aliases and hidden ones among them."""
    error: str = ""


@dataclass(frozen=True)
class PathFacts:
    """`node.paths`: one path; `kind` is file, dir, other or missing."""

    path: str
    kind: str
    readable: bool
    writable: bool
    creatable: bool
    """Missing, but its nearest existing parent is a writable folder."""
    nearest_parent: str
    free_bytes: Optional[int]
    size: Optional[int] = None
    real_path: str = ""
    """Where it leads through links; the path itself, made absolute, where there are none."""


@dataclass(frozen=True)
class PortFacts:
    """`node.ports`: is a TCP port free to bind, and who listens."""

    port: int
    free: bool
    reason: str
    holders: List[ProcessInfo] = field(default_factory=list)
    draining: int = 0
    """Sockets of the port that still wind down (TIME_WAIT and its kin): they do not hinder a bind by themselves."""


@dataclass(frozen=True)
class GpuSample:
    """One GPU; None is "not available", never zero."""

    index: int
    uuid: str
    name: str
    memory_total_bytes: Optional[int] = None
    memory_used_bytes: Optional[int] = None
    utilization_percent: Optional[int] = None
    temperature_c: Optional[int] = None
    power_draw_w: Optional[float] = None
    power_limit_w: Optional[float] = None
    sm_clock_mhz: Optional[int] = None
    throttle_reasons: Optional[str] = None
    mig: Optional[bool] = None
    memory_idle_bytes: Optional[int] = None
    """The lowest reading that was seen with nobody on it; None when it was never seen so."""


@dataclass(frozen=True)
class TelemetrySample:
    """`telemetry.sample`: all GPUs at one moment. `source` is nvml, smi or none; `reason` says why not better."""

    at: float
    source: str
    reason: str
    gpus: List[GpuSample] = field(default_factory=list)
    driver_version: Optional[str] = None


@dataclass(frozen=True)
class GpuHolder:
    """A process that holds GPU memory, on one GPU.

    `process` is None when its pid is not of this pid namespace, and on the wire: GpuProcesses has each process once.
    """

    gpu_index: int
    pid: int
    memory_used_bytes: Optional[int]
    evidence: str
    process: Optional[ProcessInfo] = None
    from_driver: bool = True
    """False: it only has the device file open, as monitors do; whether it holds memory the driver does not say."""
    doubt: str = ""
    """Why the driver's numbers of this row are not to be trusted; empty when they are."""


@dataclass(frozen=True)
class GpuProcesses:
    """`gpus.processes`: who holds GPU memory. `unreadable_pids` counts processes whose files could not be read.

    A server of eight ranks has some 270 processes (Inductor's compile workers), each with the files of all GPUs open.
    """

    source: str
    reason: str
    unreadable_pids: int
    holders: List[GpuHolder] = field(default_factory=list)
    processes: List[ProcessInfo] = field(default_factory=list)
    """Those of the holders that are of this pid namespace."""
    cpu_s: float = 0.0
    """What this look cost the node, seconds of a core."""


@dataclass(frozen=True)
class Terminated:
    """What became of one process: terminated, killed, gone, mismatch, denied or left."""

    pid: int
    outcome: str
    reason: str
    waited_s: float


@dataclass(frozen=True)
class Terminations:
    """`gpus.terminate`."""

    results: List[Terminated] = field(default_factory=list)
