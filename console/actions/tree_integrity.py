"""Compare the installed SGLang with what was released or committed: what is ours, and what was edited by hand."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from console.errors import NegativeResult, UsageError
from console.patches import integrity
from console.patches.integrity import HandEdit, OurChange
from console.remote import released
from console.remote.agent import NodeError, NodeRefused

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from console.actions.apply_patch import PatchOutcome
    from console.actions.node import Node
    from console.actions.patch_state import TreeState
    from console.patches.library import Patch
    from remote_agent.protocol import LedgerEntry, TreeComparison, TreeFile

MAX_READ = 32 << 20
"""Bytes of differing files that are read from the node; of the rest the hashes are shown."""


@dataclass(frozen=True, slots=True)
class TreeIntegrity:
    """The tree beside what was released (basis record), committed (git), or nothing that is known (none)."""

    compared: TreeComparison
    ours: tuple[OurChange, ...]
    edits: tuple[HandEdit, ...]
    replaced: tuple[str, ...]
    """Files that an installation has replaced since we patched them: our original of them is of another release."""

    @property
    def clean(self) -> bool | None:
        """No edit by hand; None where that is not known."""
        if self.edits or self.compared.left_off:
            return False
        return None if self.compared.basis == "none" or self.unread else True

    @property
    def ok(self) -> bool:
        """Not knowing is no failure."""
        return self.clean is not False and not self.replaced

    @property
    def unread(self) -> tuple[TreeFile, ...]:
        return tuple(file for file in self.compared.files if file.state == "unread")

    @property
    def proof(self) -> str:
        if self.compared.basis == "none":
            return f"not compared with any release: {self.compared.reason}"
        ours = f"; {len(self.ours)} files differ by our patches alone" if self.ours else ""
        edits = f"{len(self.edits)} edited by hand" if self.edits else "nothing edited by hand"
        return f"{self._against}: {edits}{ours}"

    @property
    def _against(self) -> str:
        found = self.compared
        if found.basis == "git":
            branch = f" ({found.branch})" if found.branch else ", no branch"
            return f"beside commit {(found.commit or '')[:12]}{branch} of {found.source}"
        return f"{found.checked} files beside sglang {found.version or 'unknown'} as released"

    def lines(self) -> Iterator[str]:
        for change in self.ours:
            yield f"ours: {change.path} ({', '.join(change.patches)})"
        for edit in self.edits:
            yield from edit.lines()
        for path in self.replaced:
            yield f"replaced by an installation since it was patched: {path}"
        for file in self.unread[:5]:
            yield f"not read: {file.path}: {file.reason}"
        if len(self.unread) > 5:
            yield f"not read: {len(self.unread) - 5} more"
        if self.compared.left_off:
            yield f"{self.compared.left_off} more files differ"
        if self.compared.basis != "none" and self.compared.reason:
            yield self.compared.reason
        yield self.proof

    def to_json(self) -> dict[str, Any]:
        found = self.compared
        return {
            "basis": found.basis,
            "source": found.source,
            "version": found.version,
            "commit": found.commit,
            "branch": found.branch,
            "checked": found.checked,
            "clean": self.clean,
            "ours": [{"path": each.path, "patches": list(each.patches)} for each in self.ours],
            "edits": [each.to_json() for each in self.edits],
            "replaced": list(self.replaced),
            "unread": [{"path": each.path, "reason": each.reason} for each in self.unread],
            "left_off": found.left_off,
            "reason": found.reason,
        }


@dataclass(frozen=True, slots=True)
class Verified:
    """What `patch verify` tells: the patches as read back, and the tree beside its release."""

    patches: PatchOutcome
    tree: TreeIntegrity

    @property
    def ok(self) -> bool:
        return self.patches.ok and self.tree.ok

    def lines(self) -> Iterator[str]:
        yield from self.tree.lines()
        yield from self.patches.lines()

    def to_json(self) -> dict[str, Any]:
        return {**self.patches.to_json(), "tree": self.tree.to_json()}


@dataclass(slots=True)
class _Reading:
    """One comparison under way."""

    node: Node
    root: str
    ledger: Sequence[LedgerEntry]
    patches: Sequence[Patch]
    compared: TreeComparison
    ours: list[OurChange] = field(default_factory=list)
    edits: list[HandEdit] = field(default_factory=list)
    texts: dict[str, bytes] = field(default_factory=dict)
    """Of each edit what is there now, without our patches."""
    left: int = MAX_READ

    async def judge(self, file: TreeFile) -> None:
        before, by = integrity.by_ledger(file.path, file.now, self.ledger)
        edit = HandEdit(file.path, file.state, file.recorded, file.now)
        if file.state == "missing":
            self.edits.append(edit)
        elif by and before == file.recorded and (before or file.state == "extra"):
            self.ours.append(OurChange(file.path, by))
        elif file.size > self.left:
            self.edits.append(replace(edit, why="too much differs to read it all"))
        else:
            self.left -= file.size
            await self._read(edit, before, by)

    async def _read(self, edit: HandEdit, before: str | None, by: tuple[str, ...]) -> None:
        try:
            now = await self.node.agent.read_file(f"{self.root}/{edit.path}")
            base, patches = await self._base(edit, now, before, by)
        except (NodeError, NodeRefused) as error:
            self.edits.append(replace(edit, why=error.message))
            return
        runtime = integrity.runtime_of(edit.path, now, self.patches)
        if runtime or (patches and _sha256(base) == edit.sha256_recorded):
            self.ours.append(OurChange(edit.path, (runtime,) if runtime else patches))
            return
        self.texts[edit.path] = base
        heading = integrity.has_our_heading(edit.path, now, self.patches)
        why = "a runtime file of ours, but not as this version has it" if heading else ""
        self.edits.append(replace(edit, patches=patches, why=why))

    async def _base(
        self, edit: HandEdit, now: bytes, before: str | None, by: tuple[str, ...]
    ) -> tuple[bytes, tuple[str, ...]]:
        if by and before:
            return await self.node.agent.kept(before), by
        return await asyncio.to_thread(integrity.without_patches, edit.path, now, self.patches)

    async def committed(self) -> None:
        """Of a checkout: give each edit the diff against the commit, and tell what is ours after all."""
        edits, self.edits = self.edits, []
        for edit in edits:
            original = await self._committed(edit)
            if original is not None and edit.patches and original == self.texts[edit.path]:
                self.ours.append(OurChange(edit.path, edit.patches))
            else:
                self.edits.append(self._with_diff(edit, original, "git does not give the committed text"))

    async def _committed(self, edit: HandEdit) -> bytes | None:
        if edit.change != "modified" or edit.path not in self.texts:
            return None
        try:
            return await self.node.agent.committed(self.root, edit.path)
        except NodeError:
            return None

    async def released(self, cache: Path, index_url: str | None) -> None:
        """Of a wheel: give each edit the diff against the released text, from the node's ledger or the index."""
        wanted = [edit for edit in self.edits if edit.change == "modified" and edit.path in self.texts]
        texts = await self._kept(wanted)
        asked = [edit.path for edit in wanted if edit.path not in texts]
        why = "the index has another build of this release than is installed"
        if asked and self.compared.version:
            try:
                found = await released.read(self.compared.version, asked, index_url=index_url, cache=cache)
                texts.update({path: data for path, data in found.items() if data is not None})
            except (NegativeResult, UsageError) as error:
                why = f"no diff, the released text is not at hand: {error.message}"
        elif asked:
            why = "no diff: METADATA names no version"
        right = {edit.path: edit.sha256_recorded for edit in wanted}
        good = {path: data for path, data in texts.items() if _sha256(data) == right[path]}
        self.edits = [self._with_diff(edit, good.get(edit.path), why) for edit in self.edits]

    async def _kept(self, wanted: Sequence[HandEdit]) -> dict[str, bytes]:
        """Originals that are on the node, because a patch of ours was in the file once."""
        known = {file.sha256_before for entry in self.ledger for file in entry.files}
        found = {}
        for edit in wanted:
            if edit.sha256_recorded is not None and edit.sha256_recorded in known:
                try:
                    found[edit.path] = await self.node.agent.kept(edit.sha256_recorded)
                except (NodeError, NodeRefused):
                    continue
        return found

    def _with_diff(self, edit: HandEdit, original: bytes | None, why: str) -> HandEdit:
        if edit.path not in self.texts or (edit.change == "modified" and original is None):
            return edit if edit.why or edit.change == "missing" else replace(edit, why=why)
        return replace(edit, diff=integrity.shown(edit.path, original, self.texts[edit.path]))


async def hand_edits(node: Node, tree: TreeState, *, cache: Path, index_url: str | None = None) -> TreeIntegrity:
    """Compare the tree and show every edit by hand with its diff; nothing is changed.

    `cache` keeps the sources of a release that had to be fetched. An index that cannot be reached is no failure: the
    hashes are shown then, and why.
    """
    reading = await _judged(node, tree.root, tree.ledger)
    if reading.compared.basis == "git":
        await reading.committed()
    elif reading.edits:
        await reading.released(cache, index_url)
    replaced = await _replaced(reading)
    return TreeIntegrity(reading.compared, tuple(reading.ours), tuple(reading.edits), replaced)


async def brief(node: Node, root: str, ledger: Sequence[LedgerEntry]) -> str | None:
    """What differs beyond the ledger's patches, in few words for a run's record: "2 files 1a2b3c4d5e6f".

    Empty when nothing does, None when that is not known. A patch that another account applied counts too.
    """
    try:
        reading = await _judged(node, root, ledger)
        if reading.compared.basis == "git":
            await reading.committed()
    except (NodeError, NodeRefused):
        return None
    compared = reading.compared
    if compared.basis == "none":
        return None
    recorded = {each for entry in ledger for each in entry.patches}
    ours = {each.path for each in reading.ours if set(each.patches) <= recorded}
    found = [file for file in compared.files if file.state != "unread" and file.path not in ours]
    count = len(found) + compared.left_off
    return f"{count} files {integrity.digest((file.path, file.now) for file in found)}" if count else ""


async def _judged(node: Node, root: str, ledger: Sequence[LedgerEntry]) -> _Reading:
    compared = await node.agent.compare_tree(root)
    reading = _Reading(node, root, ledger, tuple(node.patches.patches.values()), compared)
    for file in compared.files:
        if file.state != "unread":
            await reading.judge(file)
    return reading


async def _replaced(reading: _Reading) -> tuple[str, ...]:
    """Files of the ledger that are as released now, and are neither what we wrote nor what was there before."""
    if reading.compared.basis != "record":
        return ()
    differing = {file.path for file in reading.compared.files}
    ours = {file.path: file for entry in reading.ledger for file in entry.files if file.path not in differing}
    now = await reading.node.agent.tree_hashes(reading.root, list(ours)) if ours else {}
    known = {
        (file.path, sha256)
        for entry in reading.ledger
        for file in entry.files
        for sha256 in (file.sha256_before, file.sha256_after)
    }
    return tuple(path for path in ours if now[path].sha256 and (path, now[path].sha256) not in known)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
