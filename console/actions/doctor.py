"""The wiring doctor: gather what a launch and its files say, and ask the rules; with a node or without one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from console import lint
from console.actions import read_checkpoint
from console.actions.draft_layers import installed_rule
from console.actions.examination import Examination
from console.actions.patch_state import read_files
from console.errors import UsageError
from console.launch import asked as asking
from console.launch.command import render
from console.launch.shell_launch import take_apart
from console.lint.context import Installed, Launch
from console.remote.agent import NodeError, NodeRefused
from console.wiring import draft as drafts
from console.wiring import hook, reading
from console.wiring.layers import resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from console.actions.node import Inventory, Node
    from console.launch.asked import Asked
    from console.launch.command import Command
    from console.launch.loader import ResolvedProfile
    from console.wiring.checkpoint import Checkpoint
    from console.wiring.setter import SetterForm
    from remote_agent.protocol import SGLangFacts

_SM_100 = ("B200", "B300", "GB200", "GB300")
_SM_90 = ("H100", "H200", "H800", "H20", "GH200")
_NO_RELEASE = (
    "which release will serve is not known: give --sglang-version V; `spec-console doctor NODE` reads a node's"
)


@dataclass(frozen=True, slots=True)
class Files:
    """What was read of the files that a launch names."""

    target: Checkpoint | None = None
    draft: Checkpoint | None = None
    installed: Installed = field(default_factory=Installed)
    setter: SetterForm | str | None = None
    """The rule of ids in the installed model file; see `wiring.layers.resolve`."""


@dataclass(frozen=True, slots=True)
class Offline:
    """Where to look without a node: folders of this machine in the place of the launch's own, and a release."""

    version: str | None = None
    target: str | None = None
    draft: str | None = None
    home: str = field(default_factory=lambda: str(Path.home()))


def gather(
    asked: Asked,
    version: str | None,
    files: Files,
    profile: ResolvedProfile | None = None,
    baseline: Asked | None = None,
) -> Launch:
    """Put a launch together, the layers that it captures among it."""
    target, draft = files.target, files.draft
    both = target is not None and draft is not None and target.config and draft.config
    own = profile.profile if profile else None
    trained = own.training.capture_layer_outputs if own else ()
    return Launch(
        asked=asked,
        version=version,
        target=target,
        draft=draft,
        resolution=resolve(version, target.config, draft.config, files.setter) if both and target and draft else None,
        trained=trained or None,
        trained_by=own.name if own and trained else "",
        profile=own,
        baseline=baseline,
        installed=files.installed,
    )


def examine_profile(
    resolved: ResolvedProfile,
    where: Offline,
    baseline: ResolvedProfile | None = None,
    env: Mapping[str, str] | None = None,
) -> Examination:
    """Examine a profile without a node; `env` is what a node puts under every launch."""
    other = asked_of(render(baseline, env)) if baseline else None
    return _examine(asked_of(render(resolved, env)), where, resolved, other)


def examine_line(text: str, where: Offline, source: str = "-") -> Examination:
    """Examine a pasted launch line. Raises UsageError for what is not one launch."""
    launch = take_apart(text, source)
    asked = asking.read([word.text for word in launch.words], {name: word.text for name, word in launch.env.items()})
    return _examine(asked, where)


def examine_pair(where: Offline) -> Examination:
    """Examine a draft and a target, whatever the launch."""
    return _examine(asking.Asked(), where)


def asked_of(command: Command) -> Asked:
    """What a rendered command asks for."""
    return asking.read(command.argv[3:], command.env)


def _examine(
    asked: Asked, where: Offline, profile: ResolvedProfile | None = None, baseline: Asked | None = None
) -> Examination:
    notes = [] if where.version else [_NO_RELEASE]

    def read(
        word: str, given: str | None, named: str | None, how: Callable[[str], reading.Reading]
    ) -> Checkpoint | None:
        path = given or named
        if path is None:
            return None
        folder = read_checkpoint.folder_of(path, where.home, asked.env)
        found = read_checkpoint.from_files(how(folder))
        if found.config:
            notes.extend([f"{word}: {found.problem}"] if found.problem else [])
            return found
        if given:
            raise UsageError(f"--{word} {given}: {found.problem}")
        notes.append(f"the {word} {path} is not on this machine: give --{word} a folder with its config.json")
        return None

    files = Files(
        target=read("target", where.target, _model_path(asked), reading.target),
        draft=read("draft", where.draft, asked.value("speculative-draft-model-path"), reading.draft),
    )
    launch = gather(asked, where.version, files, profile, baseline)
    return Examination(launch, lint.check(launch), tuple(notes))


def _model_path(asked: Asked) -> str | None:
    return asked.value("model-path") or (asked.positional[0] if asked.positional else None)


async def on_node(
    node: Node, resolved: ResolvedProfile, command: Command, sglang: SGLangFacts, inventory: Inventory
) -> Launch:
    """The launch of a profile on a node, with the files that are there."""
    asked, home = asked_of(command), inventory.facts.home
    target = await _read(node, asked, home, _model_path(asked), reading.target)
    draft = await _read(node, asked, home, asked.value("speculative-draft-model-path"), reading.draft)
    config = dict(target.config) if target else {}
    files = Files(
        target=target,
        draft=draft,
        installed=replace(
            await _installed(node, sglang, drafts.architecture(config)) if draft else Installed(),
            flags=await _flags(node, sglang),
        ),
        setter=await installed_rule(node, sglang, config) if draft else None,
    )
    launch = gather(asked, sglang.version, files, resolved, await _baseline(node, resolved))
    gpus = [
        each for each in inventory.sample.gpus if resolved.profile.gpus is None or each.index in resolved.profile.gpus
    ]
    memory = [each.memory_total_bytes for each in gpus if each.memory_total_bytes]
    return replace(
        launch, architecture=_architecture([each.name for each in gpus]), gpu_memory_bytes=min(memory, default=None)
    )


async def _read(
    node: Node, asked: Asked, home: str, path: str | None, how: Callable[[str], reading.Reading]
) -> Checkpoint | None:
    if path is None:
        return None
    return await read_checkpoint.from_node(node.agent, how(read_checkpoint.folder_of(path, home, asked.env)))


async def _flags(node: Node, sglang: SGLangFacts) -> frozenset[str] | None:
    """The flags of the installed SGLang; None where the node does not know them yet, and begins to find out."""
    if sglang.root is None or sglang.error:
        return None
    told = await node.agent.server_flags(sglang.python, sglang.root, node.config.env)
    return frozenset(told.flags) if told.state == "known" else None


async def _installed(node: Node, sglang: SGLangFacts, architecture: str | None) -> Installed:
    """Has the installed target class the hook? By the syntax trees of its files."""
    paths = hook.files(architecture)
    if sglang.root is None or architecture is None or not paths:
        return Installed()
    try:
        texts = await read_files(node, sglang.root, paths)
    except (NodeError, NodeRefused):
        return Installed()
    there = {path: text for path, text in texts.items() if text is not None}
    if not there:
        return Installed()
    return Installed(has_hook=hook.has_hook(architecture, there.values()), model_file=next(iter(there)))


async def _baseline(node: Node, resolved: ResolvedProfile) -> Asked | None:
    """The launch that the profile is compared with; None where it has none that resolves."""
    baseline = resolved.profile.baseline
    if baseline is None:
        return None
    try:
        return asked_of(render(await node.profile(baseline.profile), node.config.env))
    except UsageError:
        return None


def _architecture(names: list[str]) -> tuple[int, int] | None:
    """Compute capability by the names of the GPUs, for those whose kernels differ."""
    words = {word for name in names for word in name.replace("-", " ").split()}
    if words & set(_SM_100):
        return 10, 0
    return (9, 0) if words & set(_SM_90) else None
