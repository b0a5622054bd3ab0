"""Time the stages of a speculative cycle at a point of a sweep, in a pass of its own: the patch slows what it times."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from console.actions import apply_patch, deliver, launch_server, measure_point, read_log, run_probe
from console.actions.patch_state import PatchRequest
from console.errors import NegativeResult

if TYPE_CHECKING:
    from console.actions.node import Node, Say
    from console.actions.sweep import PlannedSweep
    from console.launch.profile import Profile
    from console.logs.cycles import CycleSummary
    from console.probe.sweep import SweepPoint

PATCH = "eagle3-cycle"
SWITCH = ('env.EAGLE3_CYCLE="1"', 'env.EAGLE3_CYCLE_RANKS="0"')
"""Ranks run one cycle together: one of them tells enough."""


@dataclass(frozen=True, slots=True)
class Timed:
    """Median of the verify, milliseconds, and where it is from."""

    verify_ms: float
    source: str


async def run(node: Node, planned: PlannedSweep, point: SweepPoint, say: Say) -> Timed:
    """Launch the point again with the patch on, send it a block, read its log.

    Raises NegativeResult where the patch does not fit the tree, or no cycle was told.
    """
    profile, sets, env = planned.launch_words(point)
    resolved = await node.profile(profile, sets, env)
    if resolved.profile.speculative is None:
        raise NegativeResult("no speculation: there is no verify")
    sets = (*sets, f"patches={json.dumps(_patches(resolved.profile))}", *SWITCH)
    await _deliver(node, profile, sets, say)
    await measure_point.clear(node, planned, say)
    launch = await launch_server.plan(node, profile, sets, env, planned.request.allow)
    mark = {"id": planned.plan.sweep_id, "point": point.number, "pass": PATCH}
    server = await measure_point.launched(node, launch, mark, say)
    load = {**planned.resolved.profile.probe.given(), "blocks": 1, "adaptive": None}
    probe = await run_probe.plan(node, server.run_id, overrides=load)
    await run_probe.run(node, replace(probe, kind="cycle"), say)
    found = (await read_log.read(node, await read_log.find(node, server.run_id))).cycles.summary()
    return _timed(found)


def _timed(found: CycleSummary | None) -> Timed:
    if found is None or found.verify_ms is None:
        raise NegativeResult(f"no cycle was told by {PATCH}")
    share = f"{found.verify_share:.0%} of the cycle"
    return Timed(found.verify_ms, f"{PATCH}, median of {found.count} cycles, {share}, clock {found.clock}")


def _patches(profile: Profile) -> list[object]:
    others = [each for each in profile.patches if each.id != PATCH]
    return [*(each.model_dump(mode="json") for each in others), PATCH]


async def _deliver(node: Node, profile: str, sets: tuple[str, ...], say: Say) -> None:
    plan = await apply_patch.plan(node, PatchRequest(profile=profile, sets=sets))
    files = [file for each in plan.tree.plans if each.patch_id == PATCH for file in each.files]
    if not any(file.state in ("appliable", "applied") for file in files):
        raise NegativeResult(f"{PATCH} fits no file of this tree")
    outcome = await deliver.run(node, plan, say)
    if not outcome.ok:
        raise NegativeResult(outcome.proof, "`patch plan` shows why.")
