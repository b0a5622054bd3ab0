"""Messages about what outlives the connection: servers and probes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

from remote_agent.protocol.node import Identity, ProcessInfo


@dataclass(frozen=True)
class LaunchRequest:
    """`servers.launch`. `env` is set on top of the agent's environment; values in `secret_env` are masked in records.

    `secret_config` (flag name without dashes → value) goes to a 0600 file in the run directory, passed as
    `--config FILE` (SGLang ≥ 0.5.3), so that a secret never stands in argv.
    `record` is kept as it is in run.json: profile and its hash, patches, versions, findings allowed.
    """

    argv: List[str]
    env: Dict[str, str]
    log_path: str
    port: int
    operator: str
    secret_env: List[str] = field(default_factory=list)
    secret_config: Dict[str, str] = field(default_factory=dict)
    cwd: Optional[str] = None
    record: Dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ServerRun:
    """One run directory of a server, as it is now.

    `state`: starting (the supervisor has not reported), running, exited, lost (supervisor and child are gone without
    an exit record, e.g. after a reboot).
    """

    run_id: str
    operator: str
    argv: List[str]
    env: Dict[str, str]
    cwd: str
    log_path: str
    log_offset: int
    port: int
    started_at: float
    state: str
    supervisor: Optional[Identity] = None
    child: Optional[Identity] = None
    children: List[ProcessInfo] = field(default_factory=list)
    """The launcher and every living process of its session."""
    exit_code: Optional[int] = None
    exit_signal: Optional[int] = None
    ended_at: Optional[float] = None
    renamed_log: Optional[str] = None
    inherited_env: Dict[str, str] = field(default_factory=dict)
    """What it got of the agent's own environment, of variables that may change its speed; secrets masked."""
    record: Dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ServerRuns:
    """`servers.list`: run records of this state directory, the oldest first."""

    runs: List[ServerRun] = field(default_factory=list)
    left_out: int = 0
    """Older ones that had no room in the message; none of them runs."""


@dataclass(frozen=True)
class ProcessEnviron:
    """The variables that were asked for, of one process; None: not set there."""

    pid: int
    title: str
    values: Dict[str, Optional[str]]
    unread: str = ""
    """Why they are not known; empty when they are."""


@dataclass(frozen=True)
class RunEnviron:
    """`servers.environ`: what the living processes of a server were started with."""

    processes: List[ProcessEnviron] = field(default_factory=list)


@dataclass(frozen=True)
class HttpReply:
    """`servers.http`: what a server on loopback answered. `status` is 0 when nothing answered."""

    status: int
    body: str
    error: str
    elapsed_s: float


@dataclass(frozen=True)
class ProbeRun:
    """One run directory of a probe; `state` as in ServerRun. `spool` is followed with `logs.follow`."""

    run_id: str
    operator: str
    spool: str
    state: str
    started_at: float
    port: int
    record: Dict[str, Any] = field(default_factory=dict)
    supervisor: Optional[Identity] = None
    exit_code: Optional[int] = None
    ended_at: Optional[float] = None


@dataclass(frozen=True)
class ProbeRuns:
    """`probes.list`."""

    runs: List[ProbeRun] = field(default_factory=list)
