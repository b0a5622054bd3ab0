"""What is said of a server's run record in one way everywhere: which one a word means, where it stands, its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from console.logs.phases import LaunchPhase
    from remote_agent.protocol import ServerRun

ALIVE = ("running", "starting")
"""States of a run whose process is there."""
_WORDS = {"graphs": "capturing graphs"}
_ENDS = ("exited", "lost", "unknown")


@dataclass(frozen=True, slots=True)
class ServerPhase:
    """Where a server stands: the phase of its log while its process is there, else how that ended."""

    name: str
    """A phase of a launch (`console.logs.phases`), `exited` or `lost` as the run record says, or `unknown`."""
    detail: str = ""
    since: str | None = None
    """When it got ready, by the clock of its log; None before, and where the line has no time."""

    @property
    def words(self) -> str:
        """As "loading shards 16/64" or "ready since 2026-11-30 10:00:00"."""
        since = f"since {self.since}" if self.since else ""
        if self.name in _ENDS:
            return f"{self.name} ({self.detail})"
        return " ".join(filter(None, (_WORDS.get(self.name, self.name), self.detail, since)))

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "detail": self.detail, "since": self.since}


def phase_of(run: ServerRun, phase: LaunchPhase | None = None, since: str | None = None) -> ServerPhase:
    """Fold what the log says with what is known of the process: a log ends at `ready` when a server is killed.

    A log without a line of a server is that of one that has only begun, where there is its process.
    """
    if run.state in ALIVE:
        if phase is None or phase.name == "unknown":
            return ServerPhase("starting")
        return ServerPhase(phase.name, phase.detail, since if phase.name == "ready" else None)
    if phase is not None and phase.name == "died":
        return ServerPhase("died", phase.detail)
    return ServerPhase(run.state, how_it_ended(run) if run.state == "exited" else "gone without an exit record")


def is_meant(run: ServerRun, word: str) -> bool:
    """Does the user's word mean this run: its id, or the end of it?"""
    return run.run_id == word or run.run_id.endswith(word)


def how_it_ended(run: ServerRun) -> str:
    """As "exit code 3" or "signal 9"."""
    return f"exit code {run.exit_code}" if run.exit_code is not None else f"signal {run.exit_signal}"


def visible_gpus(env: Mapping[str, str]) -> tuple[int, ...]:
    """The GPUs that CUDA_VISIBLE_DEVICES lists by number; empty without it, and where it names them by UUID."""
    return tuple(int(each) for each in env.get("CUDA_VISIBLE_DEVICES", "").split(",") if each.isdigit())
