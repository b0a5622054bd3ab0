"""Deliver patches as an overlay: patched copies on the server's PYTHONPATH; the installed tree is not touched."""

from __future__ import annotations

import hashlib
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from console.actions.apply_patch import PatchFile, PatchOutcome
from console.actions.patch_state import PatchRequest, read_tree
from console.errors import Refused
from console.patches import overlay

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.actions.apply_patch import PatchPlanView
    from console.actions.node import Node, Say
    from console.patches.plan import PatchPlan
    from remote_agent.protocol import OverlayInfo


async def run(node: Node, plan: PatchPlanView, say: Say) -> PatchOutcome:
    """Write the overlay, read it back, compile its copies.

    Raises:
        Refused: a file is in the way, or a patch is in the tree already.
    """
    started = time.time()
    if why := refusal(plan):
        raise why
    built = overlay.build(plan.tree.root, plan.tree.plans)
    hashes = {path: hashlib.sha256(data).hexdigest() for path, data in built.files.items()}
    for path, data in sorted(built.files.items()):
        say(f"sending {path}")
        await node.agent.put(hashes[path], data)
    await node.agent.write_overlay(built.name, hashes)
    outcome = replace(await verify(node, plan.request), in_use=plan.in_use if plan.changes else ())
    told = {**plan.told(), "delivery": "overlay", "overlay": built.name}
    node.record(started, "patch apply", told, {"ok": outcome.ok, **outcome.to_json()})
    return outcome


def refusal(plan: PatchPlanView) -> Refused | None:
    """Why no overlay is made; None when nothing is in the way."""
    if plan.blockers:
        return Refused(f"no overlay was made: {plan.blocked()}", "Revert or mend these files first.")
    if any(file.state == "applied" for each in plan.tree.plans for file in each.files):
        return Refused("the patch is in the tree itself already", "`patch revert` first, or go on in place.")
    return None


async def verify(node: Node, request: PatchRequest) -> PatchOutcome:
    """Find the overlay that serves these patches for the tree as it is now; compile its copies."""
    tree = await read_tree(node, request)
    found = await serving(node, tree.root, tree.plans)
    files = []
    for file in (file for plan in tree.plans for file in plan.files):
        copy = _copy(found, file.path)
        if copy is None:
            state = "not-applicable" if file.state == "not-applicable" else "missing"
            why = file.why if file.state == "not-applicable" else "no overlay serves it for this tree"
            files.append(PatchFile(file.path, state, file.sha256_before, None, None, why))
            continue
        files.append(PatchFile(file.path, "overlaid", file.sha256_before, copy, True, ""))
    if found:
        compiled = await node.agent.compile(
            tree.python, [f"{found.path}/files/{file.path}" for file in files if file.state == "overlaid"]
        )
        broken = {each.path.removeprefix(f"{found.path}/files/"): each.error for each in compiled if not each.ok}
        files = [_marked(file, broken) for file in files]
    return PatchOutcome(tree.root, tuple(files), ("overlaid", "not-applicable"))


async def serving(node: Node, root: str, plans: Sequence[PatchPlan]) -> OverlayInfo | None:
    """The intact overlay that gives what these plans would change in the tree at `root`."""
    found = [each for each in await node.agent.overlays() if not each.broken]
    return next((each for each in reversed(found) if overlay.serves(each.manifest, root, plans)), None)


async def remove_all(node: Node, root: str) -> int:
    """Remove every overlay of a tree; returns how many."""
    mine = [each for each in await node.agent.overlays() if each.manifest.get("root") == root]
    for each in mine:
        await node.agent.remove_overlay(each.name)
    return len(mine)


def _copy(found: OverlayInfo | None, path: str) -> str | None:
    files = (found.manifest.get("files") or []) if found else []
    return next((str(file["sha256_after"]) for file in files if file["path"] == path), None)


def _marked(file: PatchFile, broken: dict[str, str]) -> PatchFile:
    if file.path not in broken:
        return file
    return PatchFile(file.path, file.state, file.sha256_before, file.sha256_after, False, broken[file.path])
