"""Owns the few words for a whole state: what a headless replay tells of the last one. Pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from console.state.server_phase import log_phase

if TYPE_CHECKING:
    from console.node.server_runs import ServerPhase
    from console.state.log_state import LogState
    from console.state.model import ConsoleState


def summary(state: ConsoleState) -> dict[str, Any]:
    """Return plain data: the node, its GPUs and servers, the last action, the checklist, runs, the log, notices."""
    compared = state.runs.comparison
    return {
        "node": state.node.name,
        "simulated": state.node.simulated,
        "link": state.link.name,
        "gpus": dict(Counter(each.state for each in state.gpus.verdicts)),
        "servers": [{"id": run.run_id, "state": run.state, "port": run.port} for run in state.servers.runs],
        "action": {"title": state.action.title, "phase": state.action.phase, "outcome": state.action.outcome},
        "steps": [{"id": each.id, "state": each.state, "proof": each.proof} for each in state.runbook.steps],
        "profile": state.profiles.selected,
        "runs": [run.run_id for run in state.runs.runs],
        "verdict": compared.verdict if compared else None,
        "log": _log(state.log, log_phase(state)),
        "notices": [each.text for each in state.notices.recent],
    }


def _log(log: LogState, phase: ServerPhase | None) -> dict[str, Any] | None:
    if log.window is None:
        return None
    reading = log.reading
    return {
        "path": log.path,
        "bytes": log.window.end,
        "rows": len(log.window),
        "phase": phase.name if phase else None,
        "records": reading.records if reading else None,
        "shapes": len(reading.rows) if reading else None,
        "problem": log.problem,
    }
