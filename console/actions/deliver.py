"""Put planned patches where a server finds them, or look whether they are there: an overlay, or the tree itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from console.actions import apply_overlay, apply_patch
from console.actions.apply_patch import PatchOutcome
from console.actions.patch_state import read_tree
from console.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from console.actions.apply_patch import PatchPlanView
    from console.actions.node import Node, Say
    from console.actions.patch_state import PatchRequest, TreeState


async def run(node: Node, plan: PatchPlanView, say: Say) -> PatchOutcome:
    """Deliver as the request says, an overlay where it says nothing; patches that are in the tree already stay there.

    Raises:
        Refused: a file is in the way, or the tree has some of the patches and lacks others.
    """
    if plan.request.delivery == "in-place":
        return await apply_patch.run(node, plan, say)
    if why := refusal(plan):
        raise why
    if not _in_tree(plan.tree):
        return await apply_overlay.run(node, plan, say)
    say("it is in the tree itself already")
    return await apply_patch.verify(node, plan.request)


def refusal(plan: PatchPlanView) -> Refused | None:
    """Why the plan is not carried out, by its delivery; None when nothing is in the way."""
    if plan.request.delivery == "in-place":
        return plan.refusal
    in_tree = _in_tree(plan.tree)
    if not in_tree:
        return apply_overlay.refusal(plan)
    if not plan.changes:
        return None
    return Refused(
        f"{', '.join(in_tree)} is in the tree itself, and the rest is not: a server cannot have both deliveries",
        "`patch revert` first, or go on with `--delivery in-place`.",
    )


async def verify(node: Node, request: PatchRequest) -> PatchOutcome:
    """Look where the request says; where it says nothing, each patch in the tree if that has any of it, else in an
    overlay. With no patch named, those are meant that are in the tree or in an overlay of it.
    """
    if request.delivery:
        return await (apply_patch.verify if request.delivery == "in-place" else apply_overlay.verify)(node, request)
    tree = await read_tree(node, request)
    in_tree = _in_tree(tree)
    overlaid = [plan.patch_id for plan in tree.plans if plan.patch_id not in in_tree]
    if not request.ids and not request.profile:
        held = {str(name) for each in await node.agent.overlays() for name in _patches_of(each.manifest, tree.root)}
        overlaid = [each for each in overlaid if each in held]
    looks = ((apply_patch.verify, in_tree), (apply_overlay.verify, overlaid))
    found = [await look(node, replace(request, ids=tuple(ids))) for look, ids in looks if ids]
    files = tuple(file for outcome in found for file in outcome.files)
    return PatchOutcome(tree.root, files, tuple(state for outcome in found for state in outcome.ok_states))


def _patches_of(manifest: Mapping[str, Any], root: str) -> list[object]:
    names = manifest.get("patches")
    return names if manifest.get("root") == root and isinstance(names, list) else []


def _in_tree(tree: TreeState) -> list[str]:
    """Patches of which the tree itself has lines: applied or drifted."""
    return [plan.patch_id for plan in tree.plans if any(file.state in ("applied", "drifted") for file in plan.files)]
