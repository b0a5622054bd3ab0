"""Launch a profile: findings first, then detached on the node, followed from its log until it is ready or dead."""

from __future__ import annotations

import hashlib
import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from console import lint
from console.actions import apply_overlay, doctor, preflight, tree_integrity
from console.actions.await_ready import LaunchOutcome, follow_until_ready
from console.actions.examination import Examination
from console.actions.patch_state import PatchRequest, read_config, read_tree
from console.errors import Refused, ServerDied
from console.launch.asked import Asked
from console.launch.command import Command, render, shell_line
from console.launch.needs import Needs, needs
from console.launch.record import profile_record
from console.lint.context import Launch, LaunchContext
from console.lint.rules import simulate_acc_len
from console.node.verdict import GpuVerdict, verdicts
from console.probe.fingerprint import config_sha256
from console.wiring.checkpoint import facts_from_configs
from remote_agent.protocol import LaunchRequest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from console.actions.node import Inventory, Node, Say
    from console.launch.loader import ResolvedProfile
    from console.lint.finding import Finding
    from remote_agent.protocol import OverlayInfo, ServerRun, SGLangFacts


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """The exact command, what was found, and what is needed to follow it."""

    resolved: ResolvedProfile
    command: Command
    findings: tuple[Finding, ...]
    allowed: tuple[str, ...]
    sglang: SGLangFacts
    record: dict[str, Any]
    examination: Examination

    @property
    def errors(self) -> tuple[Finding, ...]:
        """Errors that stop it."""
        return tuple(f for f in self.findings if f.severity == "error" and f.rule not in self.allowed)

    @property
    def refusal(self) -> Refused | None:
        """Why it is not launched; None when nothing stops it."""
        if not self.errors:
            return None
        told = "; ".join(_by_rule(self.errors))
        rules = " ".join(f"--allow {rule}" for rule in dict.fromkeys(f.rule for f in self.errors))
        hints = dict.fromkeys(_sentence(finding.hint) for finding in self.errors if finding.hint)
        return Refused(f"not launched: {told}", " ".join([*hints, f"Or override: {rules}"]))

    def lines(self) -> Iterator[str]:
        yield from shell_line(self.command, wrap=True).splitlines()
        for finding in self.findings:
            allowed = " (allowed)" if finding.rule in self.allowed else ""
            yield f"{finding.severity}{allowed}: {finding.message} [{finding.rule}] {finding.hint}".rstrip()
        yield from self.examination.wiring()

    def to_json(self) -> dict[str, Any]:
        return {
            "argv": list(self.command.argv),
            "env": self.command.masked_env(),
            "shell": shell_line(self.command),
            "findings": [finding.to_json() for finding in self.findings],
            "wiring": list(self.examination.wiring()),
            "profile": {"name": self.resolved.profile.name, "sha256": self.resolved.sha256},
        }


async def plan(
    node: Node,
    profile: str,
    sets: tuple[str, ...] = (),
    env: tuple[str, ...] = (),
    allow: tuple[str, ...] = (),
) -> LaunchPlan:
    """Resolve the profile, read what it needs on the node, ask every rule.

    Raises:
        UsageError: the profile is wrong, or `allow` names no rule.
    """
    lint.require_rules(allow)
    resolved = await node.profile(profile, sets, env)
    command = render(resolved, node.config.env)
    wanted = needs(resolved)
    sglang = await node.sglang(wanted.python)
    inventory = await node.inventory()
    wants, served = await _wanted_patches(node, profile, sets, wanted, sglang)
    if served:
        command = _with_overlay(command, served)
    context = LaunchContext(
        resolved=resolved,
        command=command,
        needs=wanted,
        paths={each.path: each for each in await node.agent.paths([*wanted.paths_to_read, wanted.log_path])},
        port=await node.agent.port(wanted.port),
        sglang=sglang,
        gpus=_gpus(inventory, wanted),
        patches=wants,
        runs=inventory.runs,
        launch=await doctor.on_node(node, resolved, command, sglang, inventory),
        holders=inventory.holders,
        preflight=await preflight.look(node, command, doctor.asked_of(command)),
    )
    findings = tuple(each.on(node.name) for each in lint.check_node(context))
    record = await _record(node, resolved, sglang, allow, served)
    record["findings"] = [each.to_json() for each in findings]
    return LaunchPlan(resolved, command, findings, allow, sglang, record, Examination(context.launch, findings))


async def run(node: Node, plan: LaunchPlan, say: Say) -> LaunchOutcome:
    """Start it and follow it until it is ready.

    Raises:
        Refused: a finding stops it.
        ServerDied: it ended, or was not ready in time; with its exit code, first cause and last lines.
    """
    if plan.refusal:
        raise plan.refusal
    started = time.time()
    command = plan.command
    server = await node.agent.launch(
        LaunchRequest(
            argv=list(command.argv),
            env=command.env,
            log_path=command.log_path,
            port=command.port,
            operator=node.operator,
            secret_env=list(command.secret_env),
            secret_config=command.secret_config,
            cwd=command.cwd,
            record=plan.record,
        )
    )
    say(f"started server {server.run_id}, pid {server.child.pid if server.child else '?'}, log {server.log_path}")
    for line in _inherited(server):
        say(line)
    request = {
        "profile": plan.resolved.profile.name,
        "sha256": plan.resolved.sha256,
        "server": server.run_id,
        "allow": list(plan.allowed),
        "argv": list(command.argv),
        "env": command.masked_env(),
        "overlay": plan.record["overlay"],
    }
    try:
        outcome = await follow_until_ready(node, server, plan.resolved.profile.ready_timeout_s, say)
    except ServerDied as error:
        node.record(started, "launch", request, {"ok": False, "error": error.message})
        raise
    node.record(started, "launch", request, {"ok": outcome.ok, **outcome.to_json()})
    return outcome


def _by_rule(findings: Iterable[Finding]) -> Iterator[str]:
    """The first message of each rule, and how many more there are: eight held GPUs are one line."""
    messages: dict[str, list[str]] = {}
    for finding in findings:
        messages.setdefault(finding.rule, []).append(finding.message)
    for rule, (first, *others) in messages.items():
        yield f"{first} and {len(others)} more [{rule}]" if others else first


def _sentence(hint: str) -> str:
    return hint if hint.endswith((".", "…", "?", "!")) else f"{hint}."


def _inherited(server: ServerRun) -> Iterator[str]:
    """What came from the node's own environment: no profile shows it, and every number depends on it."""
    if server.inherited_env:
        yield f"inherited from the node's environment: {', '.join(server.inherited_env)}"
    for finding in simulate_acc_len.check(Launch(Asked(env=server.inherited_env))):
        hint = f"Unset it in the node's shell ({finding.evidence})."
        yield f"{finding.severity}: {finding.message} [{finding.rule}] {hint}"


def wanted_gpus(wanted: Needs, listed: tuple[int, ...]) -> tuple[int, ...]:
    """The GPUs that the profile will use: those it names, else the first `gpu_count`."""
    return wanted.gpus if wanted.gpus is not None else listed[: wanted.gpu_count]


def _gpus(inventory: Inventory, wanted: Needs) -> tuple[GpuVerdict, ...]:
    listed = tuple(gpu.index for gpu in inventory.sample.gpus)
    if not listed:
        return ()
    return verdicts(inventory.sample, inventory.holders, gpus=wanted_gpus(wanted, listed))


async def _wanted_patches(
    node: Node, profile: str, sets: tuple[str, ...], wanted: Needs, sglang: SGLangFacts
) -> tuple[dict[str, str], OverlayInfo | None]:
    """State of each patch that the profile wants, and the overlay that serves those that are not in the tree."""
    if not wanted.patches or sglang.root is None:
        return {}, None
    tree = await read_tree(node, PatchRequest(profile=profile, sets=sets))
    states: dict[str, str] = {each.patch_id: each.state for each in tree.plans}
    missing = [each for each in tree.plans if each.state != "applied"]
    served = await apply_overlay.serving(node, tree.root, missing) if missing else None
    return {**states, **{each.patch_id: "applied" for each in missing if served}}, served


def _with_overlay(command: Command, served: OverlayInfo) -> Command:
    """The overlay goes before what PYTHONPATH has: its import hook chains the sitecustomize that would have been."""
    before = command.env.get("PYTHONPATH")
    path = f"{served.path}:{before}" if before else served.path
    return replace(command, env={**command.env, "PYTHONPATH": path})


async def _patches_in_tree(node: Node, sglang: SGLangFacts) -> list[dict[str, str]]:
    """Every patch that is in the tree, whoever wants it: a baseline from a patched tree must say so."""
    if sglang.root is None:
        return []
    ids = tuple(dict.fromkeys(name for entry in await node.agent.ledger(sglang.root) for name in entry.patches))
    if not ids:
        return []
    tree = await read_tree(node, PatchRequest(ids=ids, all_models=True, python=sglang.python))
    return [_patch_ref(each) for each in tree.plans]


async def _tree_edits(node: Node, sglang: SGLangFacts) -> str | None:
    """What differs from the release or commit beyond our patches: a number must not be compared without it."""
    return await tree_integrity.brief(node, sglang.root, await node.agent.ledger(sglang.root)) if sglang.root else None


async def _record(
    node: Node,
    resolved: ResolvedProfile,
    sglang: SGLangFacts,
    allow: tuple[str, ...],
    served: OverlayInfo | None,
) -> dict[str, Any]:
    """What run.json keeps beside the command: enough to judge shapes and speed without the profile."""
    profile = resolved.profile
    speculative = profile.speculative
    draft = speculative.draft_model_path if speculative else None
    target_config = await read_config(node, profile.model_path)
    draft_config = await read_config(node, draft) if draft else None
    return {
        "profile": profile_record(resolved.profile),
        "profile_sha256": resolved.sha256,
        "sources": list(resolved.sources),
        "overrides": resolved.overrides,
        "allowed": list(allow),
        "simulated": node.simulated,
        "sglang": asdict(sglang),
        "tree_edits": await _tree_edits(node, sglang),
        "patches": [*await _patches_in_tree(node, sglang), *(_overlay_refs(served) if served else [])],
        "overlay": served.name if served else None,
        "wiring": asdict(facts_from_configs(target_config, draft_config)),
        "model_sha256": config_sha256(target_config),
        "draft_sha256": config_sha256(draft_config or {}),
    }


def _overlay_refs(served: OverlayInfo) -> list[dict[str, str]]:
    after = sorted(f"{file['path']} {file['sha256_after']}" for file in served.manifest["files"])
    sha256 = hashlib.sha256("\n".join(after).encode()).hexdigest()
    return [{"id": str(each), "state": "overlay", "sha256": sha256} for each in served.manifest["patches"]]


def _patch_ref(plan: Any) -> dict[str, str]:
    """A patch as it stands in the tree: its id, and one hash over all files it is in."""
    applied = sorted(f"{file.path} {file.sha256_before}" for file in plan.files if file.state == "applied")
    return {"id": plan.patch_id, "state": plan.state, "sha256": hashlib.sha256("\n".join(applied).encode()).hexdigest()}
