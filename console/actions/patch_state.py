"""Read a tree and say where each patch stands in it: what plan, apply, verify and a launch's preflight share."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from console.errors import NegativeResult, UsageError
from console.patches.chain import plan_all
from console.patches.library import patch, patches
from console.patches.plan import PatchPlan, wanted_paths
from console.remote.agent import NodeError, NodeRefused

if TYPE_CHECKING:
    from console.actions.node import Node
    from console.launch.loader import ResolvedProfile
    from remote_agent.protocol import LedgerEntry

CONFIG_BYTES = 1 << 17
DELIVERIES = ("in-place", "overlay")


@dataclass(frozen=True, slots=True)
class PatchRequest:
    """Which patches, for which tree. With a profile its own patches and model files are meant."""

    ids: tuple[str, ...] = ()
    profile: str | None = None
    sets: tuple[str, ...] = ()
    all_models: bool = False
    delivery: str = "in-place"
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

    @property
    def unfinished(self) -> tuple[LedgerEntry, ...]:
        """Applications that were begun and never finished: the connection or the agent went away."""
        return tuple(entry for entry in self.ledger if entry.state == "intent")


async def read_tree(node: Node, request: PatchRequest) -> TreeState:
    """Find the tree of the serving Python and plan every patch against its files.

    Raises:
        UsageError: an unknown patch, delivery or architecture.
        NegativeResult: no SGLang where the serving Python looks.
    """
    if request.delivery not in DELIVERIES:
        raise UsageError(f"there is no delivery {request.delivery!r}", f"One of: {', '.join(DELIVERIES)}.")
    resolved = await node.profile(request.profile, request.sets) if request.profile else None
    ids = request.ids or (resolved.profile.patches if resolved else ()) or tuple(patches())
    python = _python(node, request, resolved)
    facts = await node.sglang(python)
    if facts.root is None:
        raise NegativeResult(f"no SGLang for {python} on {node.name}: {facts.error}", "Set `python` of the node.")
    known = await architectures(node, resolved) if resolved else Architectures()
    all_models = request.all_models or not known.target
    plans = await _plans(node, ids, facts.root, known, all_models=all_models)
    ledger = await node.agent.ledger(facts.root)
    return TreeState(facts.root, python, facts.version, plans, tuple(ledger))


def _python(node: Node, request: PatchRequest, resolved: ResolvedProfile | None) -> str:
    if resolved:
        return resolved.profile.python
    return request.python or node.config.launch_variables().get("python", "python3")


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
    node: Node, ids: tuple[str, ...], root: str, known: Architectures, *, all_models: bool
) -> tuple[PatchPlan, ...]:
    wanted = [
        (patch(each), wanted_paths(patch(each), known.target, known.draft, all_models=all_models)) for each in ids
    ]
    paths = sorted({path for _patch, paths in wanted for path in paths})
    now = await node.agent.tree_hashes(root, paths)
    files = {path: await node.agent.read_file(f"{root}/{path}") if now[path].sha256 else None for path in paths}
    # A tree of big files takes a quarter of a second: the screen must not stand still meanwhile.
    return await asyncio.to_thread(plan_all, wanted, files)


def _architectures(config: dict[str, Any]) -> tuple[str, ...]:
    names = config.get("architectures")
    return tuple(str(name) for name in names) if isinstance(names, list) else ()
