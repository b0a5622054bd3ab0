"""Launch a profile: findings first, then detached on the node, followed from its log until it is ready or dead."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from console import lint
from console.actions import apply_overlay
from console.actions.patch_state import PatchRequest, read_config, read_tree
from console.errors import Refused, ServerDied
from console.launch.command import Command, render, shell_line
from console.launch.needs import Needs, needs
from console.launch.record import profile_record
from console.lint.context import LaunchContext
from console.logs.history import LogHistory
from console.node.server_runs import how_it_ended
from console.node.verdict import GpuVerdict, verdicts
from console.units import format_seconds, plain
from console.wiring.checkpoint import facts_from_configs
from remote_agent.protocol import LaunchRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.actions.node import Inventory, Node, Say
    from console.launch.loader import ResolvedProfile
    from console.lint.finding import Finding
    from remote_agent.protocol import OverlayInfo, ServerRun, SGLangFacts

POLL_S = 1.0
READY_TIMEOUT_S = 45 * 60.0
"""Big checkpoints load from slow disks for half an hour; a profile's ready_timeout_s is held instead when given."""
TAIL_LINES = 15


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """The exact command, what was found, and what is needed to follow it."""

    resolved: ResolvedProfile
    command: Command
    findings: tuple[Finding, ...]
    allowed: tuple[str, ...]
    sglang: SGLangFacts
    record: dict[str, Any]

    @property
    def errors(self) -> tuple[Finding, ...]:
        """Errors that stop it."""
        return tuple(f for f in self.findings if f.severity == "error" and f.rule not in self.allowed)

    def lines(self) -> Iterator[str]:
        yield from shell_line(self.command, wrap=True).splitlines()
        for finding in self.findings:
            allowed = " (allowed)" if finding.rule in self.allowed else ""
            yield f"{finding.severity}{allowed}: {finding.message} [{finding.rule}] {finding.hint}".rstrip()

    def to_json(self) -> dict[str, Any]:
        return {
            "argv": list(self.command.argv),
            "env": self.command.masked_env(),
            "shell": shell_line(self.command),
            "findings": [finding.to_json() for finding in self.findings],
            "profile": {"name": self.resolved.profile.name, "sha256": self.resolved.sha256},
        }


@dataclass(frozen=True, slots=True)
class LaunchOutcome:
    """A server that answered and said it is ready."""

    server: ServerRun
    ready_s: float
    history: LogHistory

    @property
    def ok(self) -> bool:
        return True

    @property
    def proof(self) -> str:
        return f"server {self.server.run_id} ready after {self.ready_s:.1f} s on port {self.server.port}"

    def lines(self) -> Iterator[str]:
        yield self.proof
        yield f"log {self.server.log_path}"

    def to_json(self) -> dict[str, Any]:
        run = self.server
        return {
            "server": {
                "id": run.run_id,
                "pid": run.child.pid if run.child else None,
                "port": run.port,
                "log_path": run.log_path,
                "state": "ready",
                "ready_s": round(self.ready_s, 2),
                "argv": run.argv,
                "env": run.env,
                "renamed_log": run.renamed_log,
            }
        }


async def plan(
    node: Node,
    profile: str,
    sets: tuple[str, ...] = (),
    env: tuple[str, ...] = (),
    allow: tuple[str, ...] = (),
) -> LaunchPlan:
    """Resolve the profile, read what it needs on the node, ask every rule. Raises UsageError for the profile."""
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
    )
    record = await _record(node, resolved, sglang, allow, served)
    return LaunchPlan(resolved, command, lint.check(context), allow, sglang, record)


async def run(node: Node, plan: LaunchPlan, say: Say) -> LaunchOutcome:
    """Start it and follow it until it is ready.

    Raises:
        Refused: a finding stops it.
        ServerDied: it ended, or was not ready in time; with its exit code, first cause and last lines.
    """
    if plan.errors:
        told = "; ".join(finding.message for finding in plan.errors)
        rules = " ".join(f"--allow {rule}" for rule in dict.fromkeys(f.rule for f in plan.errors))
        hint = "; ".join(dict.fromkeys(finding.hint for finding in plan.errors if finding.hint))
        raise Refused(f"not launched: {told}", f"{hint} Or override: {rules}".strip())
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
    request = {"profile": plan.resolved.profile.name, "server": server.run_id, "allow": list(plan.allowed)}
    try:
        outcome = await follow_until_ready(node, server, plan.resolved.profile.ready_timeout_s, say)
    except ServerDied as error:
        node.record(started, "launch", request, {"ok": False, "error": error.message})
        raise
    node.record(started, "launch", request, {"ok": True, **outcome.to_json()})
    return outcome


async def follow_until_ready(node: Node, server: ServerRun, timeout_s: float | None, say: Say) -> LaunchOutcome:
    """Read the log and the run's state until the server is ready: its line, and an answer of /v1/models."""
    watch = _Watch(node, server, timeout_s, say)
    reading = asyncio.create_task(watch.read_log())
    try:
        return await watch.until_ready(reading)
    finally:
        reading.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await reading


class _Watch:
    """One server on its way to ready."""

    def __init__(self, node: Node, server: ServerRun, timeout_s: float | None, say: Say) -> None:
        self._node = node
        self._server = server
        self._timeout_s = timeout_s or READY_TIMEOUT_S
        self._say = say
        self._told = ""
        self.history = LogHistory()

    async def read_log(self) -> None:
        async for part in self._node.agent.follow(self._server.log_path, self._server.log_offset):
            if part.reset:
                self.history.reset(part.offset)
            self.history.feed(part.offset, part.data)
            self._tell()

    async def until_ready(self, reading: asyncio.Task[None]) -> LaunchOutcome:
        while True:
            waited = time.time() - self._server.started_at
            if reading.done():
                reading.result()
            if self.history.phase.name == "ready" and await self._answers():
                run = await self._node.run_of(self._server.run_id)
                if run.state == "running":
                    return LaunchOutcome(run, waited, self.history)
            await self._check_alive()
            if waited > self._timeout_s:
                raise self._death(
                    f"server {self._server.run_id} was not ready within {self._timeout_s:.0f} s",
                    "It still runs: `logs` shows what it does, `stop` ends it.",
                )
            await asyncio.sleep(POLL_S if self.history.phase.name != "ready" else 0.1)

    async def _answers(self) -> bool:
        reply = await self._node.agent.http(self._server.port, "/v1/models")
        # With an API key set the answer is 401: the server is up all the same.
        return reply.status in (200, 401)

    async def _check_alive(self) -> None:
        run = await self._node.run_of(self._server.run_id)
        if run.state in ("running", "starting"):
            return
        await self._read_rest()
        cause = self.history.phase.cause
        told = f": {plain(cause.sentence)[:300]}" if cause else ""
        raise self._death(
            f"server {run.run_id} died before it was ready ({how_it_ended(run)}){told}", f"Log: {run.log_path}"
        )

    async def _read_rest(self) -> None:
        """The follower may be a moment behind: read what is left of the log."""
        rest = LogHistory()
        async for part in self._node.agent.follow(self._server.log_path, self._server.log_offset, until_eof=True):
            rest.feed(part.offset, part.data)
        rest.finish()
        self.history = rest

    def _death(self, message: str, hint: str) -> ServerDied:
        return ServerDied(message, hint, "\n".join(plain(line) for line in self.history.tail[-TAIL_LINES:]))

    def _tell(self) -> None:
        phase = self.history.phase
        told = f"{phase.name} {plain(phase.detail)}".strip()
        if told != self._told:
            self._told = told
            self._say(f"{format_seconds(time.time() - self._server.started_at)} {told}")


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
    missing = [patch_id for patch_id, state in states.items() if state != "applied"]
    served = await apply_overlay.serving(node, tree.root, missing) if missing else None
    return {**states, **dict.fromkeys(missing if served else (), "applied")}, served


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
        "patches": [*await _patches_in_tree(node, sglang), *(_overlay_refs(served) if served else [])],
        "overlay": served.name if served else None,
        "wiring": asdict(facts_from_configs(target_config, draft_config)),
    }


def _overlay_refs(served: OverlayInfo) -> list[dict[str, str]]:
    after = sorted(f"{file['path']} {file['sha256_after']}" for file in served.manifest["files"])
    sha256 = hashlib.sha256("\n".join(after).encode()).hexdigest()
    return [{"id": str(each), "state": "overlay", "sha256": sha256} for each in served.manifest["patches"]]


def _patch_ref(plan: Any) -> dict[str, str]:
    """A patch as it stands in the tree: its id, and one hash over all files it is in."""
    applied = sorted(f"{file.path} {file.sha256_before}" for file in plan.files if file.state == "applied")
    return {"id": plan.patch_id, "state": plan.state, "sha256": hashlib.sha256("\n".join(applied).encode()).hexdigest()}
