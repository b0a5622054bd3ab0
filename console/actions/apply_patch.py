"""Apply patches to the installed tree: plan with diff, swap, read back, compile with the serving Python."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from console.actions import servers_with
from console.actions.patch_state import PatchRequest, TreeState, read_tree
from console.errors import Refused
from console.patches import chain
from remote_agent.protocol import FileChange

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.actions.node import Node, Say
    from console.patches.plan import FilePlan
    from remote_agent.protocol import Compiled


@dataclass(frozen=True, slots=True)
class PatchFile:
    """One file after it was read back."""

    path: str
    state: str
    sha256_before: str | None
    sha256_after: str | None
    compiled: bool | None
    """None: nothing was there to compile."""
    why: str

    def to_json(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "state": self.state,
            "sha256_before": self.sha256_before,
            "sha256_after": self.sha256_after,
            "compiled": self.compiled,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class PatchPlanView:
    """What would be changed, file by file, with the diffs."""

    request: PatchRequest
    tree: TreeState
    in_use: tuple[str, ...] = ()
    """Running servers that have loaded this tree."""

    @property
    def changes(self) -> tuple[FilePlan, ...]:
        return chain.changes(self.tree.plans)

    @property
    def blockers(self) -> tuple[FilePlan, ...]:
        return tuple(file for plan in self.tree.plans for file in plan.blockers)

    def blocked(self) -> str:
        """What stands in the way of all, file by file."""
        return "; ".join(f"{file.path}: {file.state}, {file.why}" for file in self.blockers)

    @property
    def refusal(self) -> Refused | None:
        """Why the tree is not changed in place; None when nothing is in the way."""
        if not self.blockers:
            return None
        hint = "Revert or mend these files first; `patch plan` shows the diff."
        return Refused(f"nothing was changed: {self.blocked()}", hint)

    def lines(self) -> Iterator[str]:
        yield f"tree {self.tree.root} (sglang {self.tree.version or 'unknown'})"
        in_place = self.request.delivery == "in-place"
        yield "in place: these files are swapped" if in_place else "overlay: patched copies; the tree stays as it is"
        for plan in self.tree.plans:
            for file in plan.files:
                yield f"{plan.patch_id} {file.state:>14} {file.path}  {file.why}"
        for entry in self.tree.unfinished:
            yield f"unfinished: {', '.join(entry.patches)} by {entry.operator}; revert takes it back"
        yield from self.tree.notes
        if self.changes:
            yield from servers_with.lines(self.in_use)

    def diff(self) -> str:
        return "".join(file.diff for plan in self.tree.plans for file in plan.files)

    def told(self) -> dict[str, Any]:
        """What the journal keeps of it: enough to do it again without us."""
        ids = sorted({each.patch_id for each in self.tree.plans})
        return {"plan": list(self.lines()), "patches": ids, "diff": self.diff()}

    def to_json(self) -> dict[str, Any]:
        return {
            "root": self.tree.root,
            "version": self.tree.version,
            "files": [
                {
                    "path": file.path,
                    "state": file.state,
                    "sha256_before": file.sha256_before,
                    "sha256_after": file.sha256_after,
                    "compiled": None,
                    "why": file.why,
                    "sites": list(file.sites),
                }
                for plan in self.tree.plans
                for file in plan.files
            ],
            "notes": list(self.tree.notes),
            "in_use": list(self.in_use),
        }


@dataclass(frozen=True, slots=True)
class PatchOutcome:
    """Every file as it was read back."""

    root: str
    files: tuple[PatchFile, ...]
    ok_states: tuple[str, ...]
    removed: tuple[str, ...] = ()
    """Names of overlays that were removed."""
    in_use: tuple[str, ...] = ()
    """Running servers that have loaded the tree as it was before."""

    @property
    def ok(self) -> bool:
        return all(file.state in self.ok_states and file.compiled is not False for file in self.files)

    @property
    def proof(self) -> str:
        done = [file for file in self.files if file.state in self.ok_states and file.state != "not-applicable"]
        compiled = sum(file.compiled is True for file in self.files)
        wrong = "; ".join(f"{file.path} {file.state} {file.why}" for file in self.files if not self._is_right(file))
        counts = Counter(file.state for file in done)
        told = " and ".join(f"{count} files {state}" for state, count in counts.items()) or "no file is changed"
        taken = f"; {len(self.removed)} overlays removed" if self.removed else ""
        return f"{told}, {compiled} compiled{taken}" + (f"; NOT: {wrong}" if wrong else "")

    def _is_right(self, file: PatchFile) -> bool:
        return file.state in self.ok_states and file.compiled is not False

    def lines(self) -> Iterator[str]:
        for file in self.files:
            compiled = {True: "compiled", False: "DOES NOT COMPILE", None: ""}[file.compiled]
            yield f"{file.state:>14} {file.path} {compiled} {file.why}".rstrip()
        yield self.proof
        yield from servers_with.lines(self.in_use)

    def to_json(self) -> dict[str, Any]:
        files = [file.to_json() for file in self.files]
        told = {"overlays_removed": list(self.removed), "in_use": list(self.in_use)}
        return {"root": self.root, "files": files, **told}


async def plan(node: Node, request: PatchRequest) -> PatchPlanView:
    """Read the tree and compute every new text; nothing is changed."""
    tree = await read_tree(node, request)
    return PatchPlanView(request, tree, await servers_with.tree(node, tree.root))


async def run(node: Node, plan: PatchPlanView, say: Say) -> PatchOutcome:
    """Swap the planned files and verify them. Raises Refused when a file is in the way of all."""
    started = time.time()
    if plan.refusal:
        raise plan.refusal
    changes = []
    for file in plan.changes:
        assert file.new_text is not None
        assert file.sha256_after is not None
        say(f"sending {file.path}")
        await node.agent.put(file.sha256_after, file.new_text)
        changes.append(FileChange(file.path, file.sha256_before, file.sha256_after, 0o644))
    if changes:
        ids = [each.patch_id for each in plan.tree.plans]
        say(f"swapping {len(changes)} files")
        changes = await _with_modes(node, plan.tree.root, changes)
        await node.agent.apply_files(plan.tree.root, ids, changes)
    before = {file.path: file.sha256_before for file in plan.changes}
    outcome = replace(await verify(node, plan.request, before), in_use=plan.in_use if changes else ())
    node.record(started, "patch apply", plan.told(), {"ok": outcome.ok, **outcome.to_json()})
    return outcome


async def verify(node: Node, request: PatchRequest, before: dict[str, str | None] | None = None) -> PatchOutcome:
    """Read every file back, plan again (it must say applied), compare with the ledger, compile."""
    tree = await read_tree(node, request)
    compiled = await _compiled(node, tree)
    originals = before or _originals(tree)
    files = [
        PatchFile(
            path=file.path,
            state=file.state,
            sha256_before=originals.get(file.path, file.sha256_before),
            sha256_after=file.sha256_before,
            compiled=compiled[file.path].ok if file.path in compiled else None,
            why=compiled[file.path].error if file.path in compiled else file.why,
        )
        for each in tree.plans
        for file in each.files
    ]
    return PatchOutcome(tree.root, tuple(files), ("applied", "not-applicable"))


async def _with_modes(node: Node, root: str, changes: list[FileChange]) -> list[FileChange]:
    now = await node.agent.tree_hashes(root, [each.path for each in changes])
    return [FileChange(c.path, c.sha256_before, c.sha256_after, now[c.path].mode or c.mode) for c in changes]


async def _compiled(node: Node, tree: TreeState) -> dict[str, Compiled]:
    files = [file for each in tree.plans for file in each.files if file.state == "applied"]
    paths = [file.path for file in files if file.path.endswith(".py")]
    if not paths:
        return {}
    found = await node.agent.compile(tree.python, [f"{tree.root}/{path}" for path in paths])
    return {each.path.removeprefix(f"{tree.root}/"): each for each in found}


def _originals(tree: TreeState) -> dict[str, str | None]:
    return {file.path: file.sha256_before for entry in tree.ledger for file in entry.files}
