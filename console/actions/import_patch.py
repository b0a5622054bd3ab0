"""Make a unified diff a patch that is kept account of: planned strictly, swapped in place, read back, taken back.

In place alone: an overlay is served for the patches of a profile, and a profile cannot name a diff.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from console.actions import apply_patch, servers_with
from console.actions.apply_patch import PatchFile, PatchOutcome, PatchPlanView
from console.actions.patch_state import PatchRequest, find_tree, read_files, serving_python
from console.errors import Refused, UsageError
from console.patches import import_diff, recorded
from console.patches.plan import PatchPlan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.actions.node import Node, Say
    from console.patches.plan import FilePlan

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
MAX_NAME = 60


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """What the diff would make of each of its files."""

    view: PatchPlanView

    @property
    def patch_id(self) -> str:
        """The id in the ledger."""
        return self.view.tree.plans[0].patch_id

    @property
    def files(self) -> tuple[FilePlan, ...]:
        """Every file of the diff."""
        return self.view.tree.plans[0].files

    @property
    def is_kept(self) -> bool:
        """Is it in the ledger already?"""
        return self.patch_id in recorded.ids(self.view.tree.ledger)

    @property
    def refusal(self) -> Refused | None:
        """Why nothing is changed; None when every hunk fits."""
        if not self.view.blockers:
            return None
        return Refused(f"nothing was changed: {self.view.blocked()}", _hint(self))

    def lines(self) -> Iterator[str]:
        yield from self.view.lines()
        if self.view.changes:
            yield f"{self.patch_id} is code of this diff: it runs inside every server of this tree, with no switch"
        elif not self.view.blockers and not self.is_kept:
            yield "the tree has these changes, and not by this console: there is nothing that it could take back"

    def diff(self) -> str:
        """What would be changed."""
        return self.view.diff()

    def to_json(self) -> dict[str, Any]:
        return {"id": self.patch_id, **self.view.to_json()}


def name_of(stem: str) -> str:
    """Return the name of a diff whose file is called `stem`; raise UsageError where nothing is left of it."""
    name = "-".join(re.findall(r"[a-z0-9]+", stem.lower()))[:MAX_NAME].strip("-")
    if not name:
        raise UsageError(f"{stem!r} gives no name", "Name it: --id my-fix.")
    return name


async def plan(node: Node, diff: bytes, name: str, python: str | None = None) -> ImportPlan:
    """Read the diff's files on the node and fit every hunk; nothing is changed.

    Raises:
        UsageError: a wrong name, a name that is taken by another diff, or no diff of an `sglang` package.
        NegativeResult: no SGLang where the serving Python looks.
    """
    if not _NAME.fullmatch(name) or len(name) > MAX_NAME:
        raise UsageError(f"{name!r} cannot name an imported diff", "Lower case, digits, single dashes: --id my-fix.")
    paths = import_diff.wanted_paths(diff)
    tree = await find_tree(node, python or serving_python(node))
    files = await asyncio.to_thread(import_diff.plan_diff, diff, await read_files(node, tree.root, paths))
    patch_id = recorded.IMPORTED + name
    kept = set(recorded.paths(patch_id, tree.ledger))
    if kept and (kept - set(paths) or any(file.state != "applied" for file in files)):
        raise UsageError(
            f"{patch_id} is in the tree already, and is not this diff as it stands here",
            "Choose another name by --id, or take everything back first: `patch revert`.",
        )
    planned = replace(tree, plans=(PatchPlan(patch_id, files),))
    request = PatchRequest(ids=(patch_id,), delivery="in-place", python=tree.python)
    return ImportPlan(PatchPlanView(request, planned, await servers_with.tree(node, tree.root)))


async def run(node: Node, plan: ImportPlan, say: Say) -> PatchOutcome:
    """Swap, read back, compile. Raises Refused when a hunk does not fit: nothing was changed then."""
    if plan.refusal:
        raise plan.refusal
    if plan.view.changes or plan.is_kept:
        return await apply_patch.run(node, plan.view, say)
    files = [
        PatchFile(each.path, each.state, each.sha256_before, each.sha256_before, None, each.why) for each in plan.files
    ]
    return PatchOutcome(plan.view.tree.root, tuple(files), ("applied",))


def _hint(plan: ImportPlan) -> str:
    blocked = {file.path for file in plan.view.blockers}
    ledger = plan.view.tree.ledger
    ours = [each for each in recorded.ids(ledger) if blocked & set(recorded.paths(each, ledger))]
    if ours:
        return f"These files have lines of {', '.join(ours)}: `patch revert` first, then import, then apply them again."
    return "Make the diff from the very files of this node: no hunk is moved or fitted."
