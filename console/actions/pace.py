"""How long a point of a sweep takes, by what was measured on this node before."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from console.probe.sweep_plan import Estimate
from console.probe.workload import workload_from_profile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.actions.node import Node
    from console.launch.loader import ResolvedProfile

UNKNOWN = Estimate()
NEWEST = 5
"""Launches that the estimate is made of."""


async def estimate(node: Node, resolved: ResolvedProfile, baseline: str, *, cycle: bool) -> Estimate:
    """Launch times of these two profiles on this node, and the load divided by their newest throughput."""
    names = (resolved.profile.name, baseline)
    launches = [seconds for _, seconds in zip(range(NEWEST), _ready_s(node, names), strict=False)]
    launch_s = statistics.median(launches) if launches else None
    rate = _rate(node, names)
    load = workload_from_profile(resolved.profile.probe.given())
    requests = load.blocks * load.requests_per_block + load.warmup
    probe_s = requests * load.max_new_tokens / rate if rate else None
    cycle_s = (launch_s or 0.0) + (probe_s or 0.0) / load.blocks if cycle else 0.0
    return Estimate(launch_s, probe_s, cycle_s, f"from {len(launches)} launches and the newest run on this node")


def _ready_s(node: Node, profiles: tuple[str, ...]) -> Iterator[float]:
    """Seconds to ready of launches of these profiles, newest first."""
    for action in node.journal.list_actions(node.name, limit=500, verb="launch"):
        server = action.outcome.get("server")
        if action.request.get("profile") not in profiles or not isinstance(server, dict):
            continue
        seconds = server.get("ready_s")
        if isinstance(seconds, int | float) and seconds > 0:
            yield float(seconds)


def _rate(node: Node, profiles: tuple[str, ...]) -> float | None:
    runs = node.journal.list_runs(node.name, limit=500)
    rates = (run.result.output_tok_s for run in runs if run.profile in profiles and run.result.valid)
    return next((rate for rate in rates if rate), None)
