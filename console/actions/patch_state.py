"""Read a tree and say where each patch stands in it: what plan, apply, verify and a launch's preflight share."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from console.errors import NegativeResult, UsageError
from console.patches import recorded
from console.patches.chain import plan_all
from console.patches.plan import PatchPlan, wanted_paths
from console.remote.agent import NodeError, NodeRefused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.actions.node import Node
    from console.launch.loader import ResolvedProfile
    from console.patches.library import Patch
    from remote_agent.protocol import LedgerEntry

CONFIG_BYTES = 1 << 17
DELIVERIES = ("overlay", "in-place")
"""The first is meant where none is named."""


@dataclass(frozen=True, slots=True)
class PatchRequest:
    """Which patches, for which tree. With a profile its own patches and model files are meant."""

    ids: tuple[str, ...] = ()
    profile: str | None = None
    sets: tuple[str, ...] = ()
    all_models: bool = False
    delivery: str | None = None
    """One of DELIVERIES; None: an overlay is made, and what is there is verified, whichever it is."""
    python: str | None = None
    """The serving Python, where no profile names it; None is the node's own."""


@dataclass(frozen=True, slots=True)
class Architectures:
    """`architectures` of the two configs; empty where there is no such config."""

    target: tuple[str, ...] = ()
    draft: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TreeState:
    """The installed tree, and each patch planned against it."""

    root: str
    python: str
    version: str | None
    plans: tuple[PatchPlan, ...]
    ledger: tuple[LedgerEntry, ...]
    notes: tuple[str, ...] = ()
    """What has to be said once: whose code a patch is, which patches are broken."""

    @property
    def unfinished(self) -> tuple[LedgerEntry, ...]:
        """Applications that were begun and never finished: the connection or the agent went away."""
        return tuple(entry for entry in self.ledger if entry.is_cut_short)


async def read_tree(node: Node, request: PatchRequest) -> TreeState:
    """Find the tree of the serving Python and plan every patch against its files.

    A patch that is in the tree and not known here (an imported diff) is judged by the ledger.

    Raises:
        UsageError: an unknown or broken patch, an unknown delivery or architecture.
        NegativeResult: no SGLang where the serving Python looks.
    """
    if request.delivery not in (None, *DELIVERIES):
        raise UsageError(f"there is no delivery {request.delivery!r}", f"One of: {', '.join(DELIVERIES)}.")
    resolved = await node.profile(request.profile, request.sets) if request.profile else None
    tree = await find_tree(node, _python(node, request, resolved))
    strange = [each for each in recorded.ids(tree.ledger) if each not in node.patches.patches]
    ids = request.ids or (resolved.profile.patch_ids if resolved else ()) or (*node.patches.ids, *strange)
    chosen = [node.patches.get(each) for each in ids if each not in strange]
    known = await architectures(node, resolved) if resolved else Architectures()
    all_models = request.all_models or not known.target
    plans = await _plans(node, chosen, tree.root, known, all_models=all_models)
    records = [await _recorded(node, each, tree) for each in ids if each in strange]
    return replace(tree, plans=(*plans, *records), notes=node.patches.notes(ids))


async def find_requested(node: Node, request: PatchRequest) -> TreeState:
    """Find the tree that is asked about; nothing is planned. Raises as `find_tree`, and for the profile."""
    resolved = await node.profile(request.profile, request.sets) if request.profile else None
    return await find_tree(node, _python(node, request, resolved))


async def find_tree(node: Node, python: str) -> TreeState:
    """Find the tree that this Python serves, and what the ledger says of it; nothing is planned.

    Raises:
        NegativeResult: no SGLang where this Python looks.
    """
    facts = await node.sglang(python)
    if facts.root is None:
        raise NegativeResult(f"no SGLang for {python} on {node.name}: {facts.error}", "Set `python` of the node.")
    return TreeState(facts.root, python, facts.version, (), tuple(await node.agent.ledger(facts.root)))


def _python(node: Node, request: PatchRequest, resolved: ResolvedProfile | None) -> str:
    if resolved:
        return resolved.profile.python
    return request.python or serving_python(node)


def serving_python(node: Node) -> str:
    """The serving Python where neither a profile nor an option names it."""
    return node.config.launch_variables().get("python", "python3")


async def architectures(node: Node, resolved: ResolvedProfile) -> Architectures:
    """Read both configs on the node."""
    speculative = resolved.profile.speculative
    draft = speculative.draft_model_path if speculative else None
    return Architectures(
        _architectures(await read_config(node, resolved.profile.model_path)),
        _architectures(await read_config(node, draft)) if draft else (),
    )


async def read_config(node: Node, model_path: str) -> dict[str, Any]:
    """The config.json of a checkpoint on the node; empty when there is none that can be read."""
    try:
        data = await node.agent.read_head(f"{model_path}/config.json", 0, CONFIG_BYTES)
        config = json.loads(data)
    except (NodeError, NodeRefused, ValueError):
        return {}
    return config if isinstance(config, dict) else {}


async def _plans(
    node: Node, patches: Sequence[Patch], root: str, known: Architectures, *, all_models: bool
) -> tuple[PatchPlan, ...]:
    wanted = [(each, wanted_paths(each, known.target, known.draft, all_models=all_models)) for each in patches]
    files = await read_files(node, root, sorted({path for _patch, paths in wanted for path in paths}))
    # A tree of big files takes a quarter of a second: the screen must not stand still meanwhile.
    return await asyncio.to_thread(plan_all, wanted, files)


async def read_files(node: Node, root: str, paths: Sequence[str]) -> dict[str, bytes | None]:
    """Read files of a tree by their path in it; None: not there."""
    now = await node.agent.tree_hashes(root, paths)
    return {path: await node.agent.read_file(f"{root}/{path}") if now[path].sha256 else None for path in paths}


async def _recorded(node: Node, patch_id: str, tree: TreeState) -> PatchPlan:
    now = await node.agent.tree_hashes(tree.root, recorded.paths(patch_id, tree.ledger))
    return recorded.plan(patch_id, tree.ledger, {path: file.sha256 for path, file in now.items()})


def _architectures(config: dict[str, Any]) -> tuple[str, ...]:
    names = config.get("architectures")
    return tuple(str(name) for name in names) if isinstance(names, list) else ()
