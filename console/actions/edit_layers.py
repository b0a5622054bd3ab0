"""Change the layer ids in a draft's config.json, guarded and taken back to the byte.

The node swaps the file only if it is the one that was planned, keeps the original, and has the change in its ledger
like a patch.
"""

from __future__ import annotations

import difflib
import hashlib
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from console.actions.draft_layers import (
    FILE,
    PATCH,
    DraftRequest,
    DraftState,
    Folder,
    find_folder,
    read_draft,
    resolved_json,
    resolved_lines,
)
from console.errors import Refused, UsageError
from console.remote.agent import NodeRefused
from console.wiring import draft_config
from console.wiring.layers import Captures
from remote_agent.protocol import FileChange

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.actions.node import Node, Say
    from remote_agent.protocol import LedgerEntry


@dataclass(frozen=True, slots=True)
class LayersPlan:
    """A draft as it is, and as it would be."""

    before: DraftState
    after: DraftState

    @property
    def is_empty(self) -> bool:
        return self.before.data == self.after.data

    @property
    def blocked(self) -> str:
        """Why it cannot be done; empty when it can."""
        if self.before.folder.link:
            return f"{self.before.folder.file} is a link to {self.before.folder.link}, which others may use too"
        return ""

    @property
    def refusal(self) -> Refused | None:
        """Why the file is not changed; None when nothing is in the way."""
        return Refused(f"nothing was changed: {self.blocked}", _copy(self.before.folder)) if self.blocked else None

    def lines(self) -> Iterator[str]:
        yield from self.before.lines()
        yield "nothing to write: these ids are there" if self.is_empty else "after the change:"
        if not self.is_empty:
            yield from resolved_lines(self.after.resolution)
            if self.after.agrees is False:
                yield f"this is NOT what was trained; {self.after.advice()}"
        for server in self.before.in_use:
            yield f"server {server} runs with this draft: it keeps what it has read, a launch reads the change"
        if self.blocked:
            yield f"blocked: {self.blocked}"
        yield from self.diff()

    def diff(self) -> list[str]:
        old, new = (each.data.decode("utf-8").splitlines() for each in (self.before, self.after))
        return list(difflib.unified_diff(old, new, f"a/{FILE}", f"b/{FILE}", n=1, lineterm=""))

    def to_json(self) -> dict[str, Any]:
        after = {"sha256": self.after.sha256, **resolved_json(self.after.resolution), "agrees": self.after.agrees}
        return {**self.before.to_json(), "after": after, "diff": self.diff(), "blocked": self.blocked}


@dataclass(frozen=True, slots=True)
class LayersOutcome:
    """The draft as it was read back."""

    state: DraftState
    wanted_sha256: str

    @property
    def ok(self) -> bool:
        return self.state.sha256 == self.wanted_sha256

    @property
    def proof(self) -> str:
        return f"{FILE} is what was planned" if self.ok else f"{FILE} is NOT what was planned: somebody else changed it"

    def lines(self) -> Iterator[str]:
        yield from self.state.lines()
        yield self.proof

    def to_json(self) -> dict[str, Any]:
        return self.state.to_json()


@dataclass(frozen=True, slots=True)
class RevertLayersPlan:
    """What the ledger says was changed in the draft's folder."""

    folder: Folder
    ledger: tuple[LedgerEntry, ...]

    @property
    def is_empty(self) -> bool:
        return not self.ledger

    @property
    def original(self) -> str | None:
        """Hash of the file before the oldest change."""
        return self.ledger[0].files[0].sha256_before if self.ledger and self.ledger[0].files else None

    def lines(self) -> Iterator[str]:
        yield f"draft {self.folder.file}"
        for entry in self.ledger:
            yield f"restore {FILE} ({', '.join(entry.patches)}, by {entry.operator})"
        if self.is_empty:
            yield "nothing was changed by this account on this node"

    def to_json(self) -> dict[str, Any]:
        return {"path": self.folder.file, "patches": [entry.entry_id for entry in self.ledger]}


@dataclass(frozen=True, slots=True)
class RevertLayersOutcome:
    """The file's hash as it was read back."""

    folder: Folder
    sha256: str | None
    original: str | None
    """None: nothing was to be taken back."""
    why: str

    @property
    def ok(self) -> bool:
        return self.original is None or self.sha256 == self.original

    @property
    def proof(self) -> str:
        if self.original is None:
            return "nothing was to be taken back"
        return f"{FILE} is the original" if self.ok else f"{FILE} is NOT the original: {self.why}"

    def lines(self) -> Iterator[str]:
        yield f"draft {self.folder.file}"
        yield self.proof

    def to_json(self) -> dict[str, Any]:
        state = "original" if self.ok else "drifted"
        return {"path": self.folder.file, "sha256": self.sha256, "state": state, "why": self.why}


async def plan(node: Node, request: DraftRequest) -> LayersPlan:
    """Compute the new text; nothing is changed.

    Raises:
        UsageError: it is not said what to write, or the config cannot be edited.
        Refused: no ids give what was trained.
    """
    if (request.ids is None) != request.trained:
        raise UsageError("which ids?", "Give --ids 2,30,58, or --trained for what the profile's training says.")
    before = await read_draft(node, request)
    if request.trained and before.trained is None:
        raise UsageError(
            f"the profile {before.profile} does not say what its draft was trained on",
            "Set training.capture_layer_outputs, or give --ids.",
        )
    if request.trained and before.resolution.eager == Captures(before.trained or ()):
        return LayersPlan(before, before)
    ids = before.ids_of_trained() if request.trained else request.ids
    if isinstance(ids, str):
        raise Refused(f"what was trained cannot be written as ids: {ids}", "`draft show` tells what is captured.")
    assert ids is not None
    return LayersPlan(before, before.with_data(draft_config.set_ids(before.data, ids)))


async def run(node: Node, plan: LayersPlan, say: Say) -> LayersOutcome:
    """Swap the file and read it back. Raises Refused when it is a link, or is no more what was planned."""
    started = time.time()
    before, after = plan.before, plan.after
    if plan.refusal:
        raise plan.refusal
    if not plan.is_empty:
        now = await node.agent.tree_hashes(before.folder.root, [FILE])
        change = FileChange(FILE, before.sha256, after.sha256, now[FILE].mode or 0o644)
        say(f"swapping {before.folder.file}")
        await node.agent.put(after.sha256, after.data)
        await _apply(node, before.folder, change)
    read = before.with_data(await node.agent.read_file(before.folder.file))
    read = replace(read, ledger=tuple(await node.agent.ledger(before.folder.root)))
    outcome = LayersOutcome(read, after.sha256)
    node.record(started, "draft set", {"plan": list(plan.lines())}, {"ok": outcome.ok, **outcome.to_json()})
    return outcome


async def _apply(node: Node, folder: Folder, change: FileChange) -> None:
    try:
        await node.agent.apply_files(folder.root, [PATCH], [change])
    except NodeRefused as error:
        if error.kind != "permission":
            raise
        raise Refused(error.message, f"The folder and the one above it must be writable. {_copy(folder)}") from None


def _copy(folder: Folder) -> str:
    return (
        f"Use a copy of your own, `cp -rL {folder.path} FOLDER` or `hf download REPO --local-dir FOLDER`,"
        " and let speculative.draft_model_path name it."
    )


async def plan_revert(node: Node, request: DraftRequest) -> RevertLayersPlan:
    folder = await find_folder(node, await node.profile(request.profile, request.sets))
    return RevertLayersPlan(folder, tuple(await node.agent.ledger(folder.root)))


async def run_revert(node: Node, plan: RevertLayersPlan, say: Say) -> RevertLayersOutcome:
    """Put the original back and hash it again. A file that was changed since is left, and that is said."""
    started = time.time()
    why = ""
    if not plan.is_empty:
        say(f"restoring {plan.folder.file}")
        outcomes = await node.agent.restore_files(plan.folder.root)
        why = next((each.reason for each in outcomes if each.reason), "")
    sha256 = hashlib.sha256(await node.agent.read_file(plan.folder.file)).hexdigest()
    outcome = RevertLayersOutcome(plan.folder, sha256, plan.original, why)
    node.record(started, "draft revert", {"plan": list(plan.lines())}, {"ok": outcome.ok, **outcome.to_json()})
    return outcome
