"""Take patches back to the byte: every ledger entry of the tree, and read again that each file is its original."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from console.actions import apply_overlay, servers_with
from console.actions.apply_patch import PatchFile, PatchOutcome
from console.actions.patch_state import PatchRequest, TreeState, read_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.actions.node import Node, Say


@dataclass(frozen=True, slots=True)
class RevertPlan:
    """What the ledger says was changed, and would be put back."""

    tree: TreeState
    overlays: tuple[str, ...] = ()
    """Names of overlays that were made for this tree."""
    in_use: tuple[str, ...] = ()
    """Running servers that have loaded this tree."""

    @property
    def is_empty(self) -> bool:
        return not self.tree.ledger and not self.overlays

    def lines(self) -> Iterator[str]:
        yield f"tree {self.tree.root}"
        for entry in self.tree.ledger:
            for file in entry.files:
                act = "remove" if file.sha256_before is None else "restore"
                yield f"{act} {file.path} ({', '.join(entry.patches)}, by {entry.operator})"
        for name in self.overlays:
            yield f"remove the overlay {name}"
        if self.is_empty:
            yield "nothing was applied by this account on this node"
        else:
            yield from servers_with.lines(self.in_use)

    def to_json(self) -> dict[str, Any]:
        files = [file for entry in self.tree.ledger for file in entry.files]
        return {
            "root": self.tree.root,
            "files": [{"path": f.path, "sha256_before": f.sha256_before} for f in files],
            "overlays": list(self.overlays),
            "in_use": list(self.in_use),
        }


async def plan(node: Node, request: PatchRequest) -> RevertPlan:
    tree = await read_tree(node, request)
    overlays = [each.name for each in await node.agent.overlays() if each.manifest.get("root") == tree.root]
    return RevertPlan(tree, tuple(overlays), await servers_with.tree(node, tree.root))


async def run(node: Node, plan: RevertPlan, say: Say) -> PatchOutcome:
    """Restore, then hash every file again."""
    started = time.time()
    root = plan.tree.root
    # The oldest entry of a path has its original: later ones were put on top of it.
    ledger = list({file.path: file for entry in reversed(plan.tree.ledger) for file in entry.files}.values())
    if ledger:
        say(f"restoring {len(ledger)} files")
    outcomes = {each.path: each for each in (await node.agent.restore_files(root) if ledger else [])}
    now = await node.agent.tree_hashes(root, [file.path for file in ledger])
    files = []
    for file in ledger:
        sha256 = now[file.path].sha256
        state = "original" if sha256 == file.sha256_before else "drifted"
        why = outcomes[file.path].reason if file.path in outcomes else ""
        files.append(PatchFile(file.path, state, file.sha256_after, sha256, None, why))
    if plan.overlays:
        say(f"removing {await apply_overlay.remove_all(node, root)} overlays")
    in_use = () if plan.is_empty else plan.in_use
    outcome = PatchOutcome(root, tuple(files), ("original",), plan.overlays, in_use)
    node.record(started, "patch revert", {"plan": list(plan.lines())}, {"ok": outcome.ok, **outcome.to_json()})
    return outcome
