"""Which layer outputs a draft gets: as its config says, as the installed SGLang reads it, and as it was trained."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from console.actions import servers_with
from console.actions.patch_state import read_config, read_files
from console.errors import NegativeResult, UsageError
from console.remote.agent import NodeError, NodeRefused
from console.wiring import draft_config, setter, targets
from console.wiring.layers import Captures, Resolution, ids_for, resolve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.actions.node import Node
    from console.launch.loader import ResolvedProfile
    from console.wiring.setter import SetterForm
    from remote_agent.protocol import LedgerEntry, PathFacts, ServerRun, SGLangFacts

FILE = "config.json"
PATCH = "draft-layers"
"""What the ledger calls a change of ids."""
GRAPHS_IGNORE_IDS = (
    "CUDA graphs of this version ignore the config's ids: run with disable_cuda_graph, or SGLang 0.5.11 or newer"
)


@dataclass(frozen=True, slots=True)
class DraftRequest:
    """Whose draft, and what to write into it: ids, or what gives the profile's `training.capture_layer_outputs`."""

    profile: str
    sets: tuple[str, ...] = ()
    ids: tuple[int, ...] | None = None
    trained: bool = False


@dataclass(frozen=True, slots=True)
class Folder:
    """The draft's folder on the node."""

    path: str
    """As the profile names it."""
    root: str
    """Without links: what the ledger calls it."""
    link: str = ""
    """Where its config.json really is, when that is elsewhere."""

    @property
    def file(self) -> str:
        return f"{self.path}/{FILE}"


@dataclass(frozen=True, slots=True)
class DraftState:
    """One reading of a draft's config in the light of target and SGLang."""

    folder: Folder
    data: bytes
    config: dict[str, Any]
    target: dict[str, Any]
    profile: str
    graphs: bool
    """True: the profile leaves CUDA graphs on."""
    trained: tuple[int, ...] | None
    version: str | None
    installed: SetterForm | str | None
    ledger: tuple[LedgerEntry, ...]
    in_use: tuple[str, ...]
    """Running servers whose run record names this draft."""

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    @property
    def resolution(self) -> Resolution:
        return resolve(self.version, self.target, self.config, self.installed)

    @property
    def agrees(self) -> bool | None:
        """Is what was trained what is captured? None: one of the two is not known."""
        found = self.resolution
        if self.trained is None:
            return None
        ways = (found.eager, found.replay) if self.graphs else (found.eager,)
        if any(each is not None and each != Captures(self.trained) for each in ways):
            return False
        return None if None in ways else True

    def ids_of_trained(self) -> tuple[int, ...] | str:
        """Ids that make the installed SGLang capture what was trained, or why there are none."""
        found = self.resolution
        if not self.trained:
            return f"the profile {self.profile} does not say `training.capture_layer_outputs`"
        if found.rule is None or found.layers is None:
            return f"what ids mean here is not known: {found.unknown}"
        return ids_for(found.rule, found.layers, self.trained)

    def with_data(self, data: bytes) -> DraftState:
        """The same, were this the file."""
        return replace(self, data=data, config=draft_config.read(data))

    def lines(self) -> Iterator[str]:
        found = self.resolution
        yield f"draft {self.folder.file}"
        yield f"target {found.architecture or '?'}, {found.layers or '?'} layers; SGLang {self.version or 'unknown'}"
        yield from resolved_lines(found)
        if self.trained:
            word = {True: "the same", False: "DIFFERENT", None: "not comparable"}[self.agrees]
            yield f"trained on the outputs of layers {written(self.trained)} ({self.profile}): {word}"
        if self.agrees is False:
            yield self.advice()
        yield from (f"changed by {each.operator}: `draft revert` takes it back" for each in self.ledger)

    def advice(self) -> str:
        """What to write to get what was trained."""
        ids = self.ids_of_trained()
        if isinstance(ids, str):
            return f"no ids give what was trained: {ids}"
        found = self.resolution
        if found.eager == Captures(self.trained or ()):
            return GRAPHS_IGNORE_IDS
        more = f"; then still: {GRAPHS_IGNORE_IDS}" if self.graphs and found.differs_in_replay else ""
        return f"to capture what was trained, write ids {list(ids)}: `draft set --trained`{more}"

    def to_json(self) -> dict[str, Any]:
        found, write = self.resolution, self.ids_of_trained()
        return {
            "path": self.folder.file,
            "sha256": self.sha256,
            "sglang_version": self.version,
            "target": {"architecture": found.architecture, "layers": found.layers},
            **resolved_json(found),
            "trained": list(self.trained) if self.trained else None,
            "agrees": self.agrees,
            "write": None if isinstance(write, str) else list(write),
            "why": write if isinstance(write, str) else "",
            "patches": [each.entry_id for each in self.ledger],
            "in_use": list(self.in_use),
        }


def resolved_lines(found: Resolution) -> Iterator[str]:
    """Ids and the outputs that they stand for."""
    ids = "none, SGLang's default is taken" if found.draft.ids is None else str(list(found.draft.ids))
    if found.draft.top_level:
        ids += "; those at the top level are not read for captures"
    yield f"ids in eagle_config: {ids}"
    if found.eager is not None:
        where = "without CUDA graphs and in a prefill " if found.differs_in_replay else ""
        yield f"captures {where}the outputs of layers {written(found.eager.outputs)} (by {found.source})"
        yield from (f"FAULT: {fault}" for fault in found.eager.faults)
    if found.replay is not None and found.differs_in_replay:
        yield f"captures in a verify replayed from CUDA graphs the outputs of layers {written(found.replay.outputs)}"
    if found.unknown:
        yield f"not known: {found.unknown}"


def resolved_json(found: Resolution) -> dict[str, Any]:
    """`ids`, `resolved`."""

    def outputs(each: Captures | None) -> list[int] | None:
        return None if each is None else list(each.outputs)

    return {
        "ids": None if found.draft.ids is None else list(found.draft.ids),
        "resolved": {
            "eager": outputs(found.eager),
            "replay": outputs(found.replay),
            "faults": list(found.eager.faults) if found.eager else [],
            "unknown": found.unknown,
            "by": found.source,
        },
    }


def written(outputs: tuple[int, ...]) -> str:
    return ", ".join("embedding" if each < 0 else str(each) for each in outputs) or "none"


async def read_draft(node: Node, request: DraftRequest) -> DraftState:
    """Read the draft's config, the target's, and the rule of the installed SGLang.

    Raises:
        UsageError: no such profile, it has no draft, or the draft's config cannot be read in one way only.
        NegativeResult: the draft is not a folder of the node.
    """
    resolved = await node.profile(request.profile, request.sets)
    folder = await find_folder(node, resolved)
    data = await node.agent.read_file(folder.file)
    target = await read_config(node, resolved.profile.model_path)
    facts = await node.sglang(resolved.profile.python)
    return DraftState(
        folder=folder,
        data=data,
        config=draft_config.read(data),
        target=target,
        profile=resolved.profile.name,
        graphs=not resolved.profile.disable_cuda_graph,
        trained=resolved.profile.training.capture_layer_outputs or None,
        version=facts.version,
        installed=await installed_rule(node, facts, target),
        ledger=tuple(await node.agent.ledger(folder.root)),
        in_use=await servers_with.servers(node, lambda run: _reads(run, folder.path)),
    )


async def find_folder(node: Node, resolved: ResolvedProfile) -> Folder:
    """The folder of the profile's draft on the node. Raises UsageError, NegativeResult."""
    speculative = resolved.profile.speculative
    path = speculative.draft_model_path.rstrip("/") if speculative and speculative.draft_model_path else ""
    if not path:
        raise UsageError(f"the profile {resolved.profile.name} has no draft", "Set speculative.draft_model_path.")
    if not path.startswith("/"):
        raise NegativeResult(
            f"the draft {path} is named by its hub id: its config lies in a cache that others share",
            f"Get a copy of your own, `hf download {path} --local-dir FOLDER`, and let the profile name that folder.",
        )
    folder, file = await node.agent.paths([path, f"{path}/{FILE}"])
    if file.kind != "file":
        raise NegativeResult(f"{path} on {node.name} has no {FILE}", "Set speculative.draft_model_path.")
    return Folder(path, folder.real_path, _link(folder, file))


def _link(folder: PathFacts, file: PathFacts) -> str:
    return "" if file.real_path == f"{folder.real_path}/{FILE}" else file.real_path


async def installed_rule(node: Node, facts: SGLangFacts, target: dict[str, Any]) -> SetterForm | str | None:
    """The rule in the node's own model file; None where there is no such file to look into."""
    names = target.get("architectures")
    known = targets.target(names[0]) if isinstance(names, list) and names and isinstance(names[0], str) else None
    if facts.root is None or known is None:
        return None
    path = f"srt/models/{known.file}.py"
    try:
        text = (await read_files(node, facts.root, [path]))[path]
    except (NodeError, NodeRefused) as error:
        return f"{path} cannot be read: {error.message}"
    if text is None:
        return None
    return setter.read(text) or f"the installed {path} treats ids in a way that is not known"


def _reads(run: ServerRun, path: str) -> bool:
    """Does the record of a server name this draft?"""
    profile = run.record.get("profile")
    speculative = profile.get("speculative") if isinstance(profile, dict) else None
    named = speculative.get("draft_model_path") if isinstance(speculative, dict) else None
    return isinstance(named, str) and named.rstrip("/") == path
