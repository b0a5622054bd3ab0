"""Which processes a `--pid` may name, and what each takes: vital ones are refused, strangers take the typed host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from console.errors import Refused, UsageError
from console.node.holders import SYSTEM_COMMS, describe
from console.node.server_groups import INIT, group, is_bystander
from console.node.titles import role

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.node.holders import Holder
    from remote_agent.protocol import ProcessInfo, ServerRun

KTHREADD = 2
FREES_NOTHING = "holds no GPU memory and is no process of SGLang: ending it frees no GPU"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What has to be known of the node beside who holds what."""

    hostname: str
    uid: int
    """The agent's."""
    agent_line: frozenset[int] = frozenset()
    """Pids of our agent and of everything above it: sshd, or this console itself."""
    simulated: bool = False
    """The embedded node: its processes are real ones of this machine, and all others are none of its."""


@dataclass(frozen=True, slots=True)
class Targets:
    """The processes of a node, to be chosen from by pid."""

    around: Surroundings
    holders: Sequence[Holder]
    runs: Sequence[ServerRun]
    named: Sequence[ProcessInfo]
    """Those of the pids that are meant, as they are now."""
    include_foreign: bool = False
    confirmed_host: str | None = None

    def choose(self, pid: int) -> ProcessInfo:
        """Raises UsageError for a pid that is not there, Refused for one that is not to be ended, or not so."""
        holder = next((each for each in self.holders if each.pid == pid), None)
        process = next((each for each in self.named if each.identity.pid == pid), holder.process if holder else None)
        if process is None:
            raise UsageError(f"no process {pid} on the node", "`status` lists who holds the GPUs.")
        if why := self._vital(process):
            raise Refused(f"{describe(process)} {why} and is never ended")
        if self.around.simulated and not holder and not self._is_servers(process):
            raise Refused(
                f"{describe(process)} is a real process of this machine, and none of this SIMULATED node",
                "Only the embedded node's own servers, and what holds its GPUs, are ended here: `status` lists them.",
            )
        if process.uid != self.around.uid:
            self._check_foreign(process)
        elif self.is_bystander(process) and self.confirmed_host != self.around.hostname:
            raise Refused(
                f"{describe(process)} {FREES_NOTHING}",
                f"If it is meant all the same: --confirm-host {self.around.hostname}.",
            )
        return process

    def is_bystander(self, process: ProcessInfo) -> bool:
        """Would ending it free no GPU: no memory that the driver lists, no process of SGLang or of a run?"""
        holder = next((each for each in self.holders if each.pid == process.identity.pid), None)
        is_one = is_bystander(holder) if holder else role(process) is None
        return is_one and not self._is_servers(process)

    def _is_servers(self, process: ProcessInfo) -> bool:
        """Is it of a run, whatever its title, or the launcher of one of the servers here?"""
        recorded = any(process.identity == each.identity for run in self.runs for each in run.children)
        return recorded or any(process.identity.pid == each.launcher for each in group(self.holders))

    def _vital(self, process: ProcessInfo) -> str:
        pid = process.identity.pid
        if pid == INIT:
            return "is the first process of the node, or of its container,"
        if not process.argv and process.ppid in (0, KTHREADD):
            return "is a thread of the kernel"
        if pid in self.around.agent_line:
            return "is our agent, or what it was started by,"
        return "belongs to the system" if process.comm in SYSTEM_COMMS else ""

    def _check_foreign(self, process: ProcessInfo) -> None:
        if not self.include_foreign or self.confirmed_host != self.around.hostname:
            raise Refused(
                f"{describe(process)} belongs to another user",
                f"It takes --include-foreign --confirm-host {self.around.hostname}, and root on the node.",
            )
