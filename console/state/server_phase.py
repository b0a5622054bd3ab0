"""Owns where a server stands on every screen: by the log that is followed, and by its process. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.node.server_runs import ServerPhase, phase_of

if TYPE_CHECKING:
    from console.state.model import ConsoleState


def log_phase(state: ConsoleState) -> ServerPhase | None:
    """Where the server of the followed log stands; of a log without one, what it says itself. None: nothing is read."""
    if state.log.reading is None:
        return None
    said = state.log.reading.phase
    run = next((each for each in state.servers.runs if each.run_id == state.log.run_id), None)
    return phase_of(run, said) if run else ServerPhase(said.name, said.detail)


def server_word(state: ConsoleState) -> str:
    """How the newest server of this operator stands: its phase where its log is followed, else its record's state."""
    run = state.servers.newest_own
    if run is None:
        return "none"
    phase = log_phase(state) if state.log.run_id == run.run_id else None
    return phase.name if phase else run.state
