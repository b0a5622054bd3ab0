"""Calibrate a node: write a pair whose acceptance is known, launch it with a profile's flags, probe, judge, stop."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from console import lint
from console.actions import launch_server, read_log, run_probe, stop_server
from console.actions.calibration_outcome import CalibrateOutcome, SawOutcome
from console.actions.draft_layers import installed_rule
from console.actions.explain_log import of_history
from console.actions.patch_state import architectures, serving_python
from console.calibration import table as tables
from console.calibration import wirings
from console.calibration.flags import Flags, flags_for
from console.calibration.pair import LIVE_TOKENS, MOST_STEPS, PROMPT, TOKENS, Ask, P, PairSpec, order
from console.calibration.program import program
from console.calibration.verdict import Seen
from console.errors import ServerDied, UsageError
from console.launch import asked
from console.lint.context import Launch
from console.wiring import targets
from console.wiring.layers import resolve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.actions.node import Node, Say
    from console.calibration.pair import Arch
    from console.calibration.table import Table
    from console.calibration.wirings import Wired
    from console.launch.loader import ResolvedProfile
    from console.wiring.targets import Rule
    from remote_agent.protocol import SGLangFacts

STOP_GRACE_S = 30.0
FOLDER = "pairs"
OF_WIRING = (
    "layer-outputs",
    "ids-out-of-range",
    "ids-order",
    "ids-ignored",
    "captures-mismatch",
    "algorithm-for-eagle3",
    "draft-vocab",
    "graph-captures-differ",
)
"""Findings that do not stop the launch: what they say is what is measured here."""
LOAD = {
    "prompt": list(PROMPT),
    "max_new_tokens": TOKENS,
    "requests_per_block": 1,
    "blocks": 1,
    "warmup": 0,
    "concurrency": 1,
    "temperature": 0.0,
    "flush_cache": True,
    "api": "generate",
    "adaptive": False,
}


@dataclass(frozen=True, slots=True)
class CalibrateRequest:
    """Whose flags, which pair, and what is done wrong on purpose."""

    profile: str | None = None
    sets: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    arch: Arch | None = None
    """None: as the profile's own target."""
    p: float = P
    draft_vocab: int = LIVE_TOKENS
    looks_back: bool = False
    wiring: str = wirings.TRAINED
    ids: tuple[int, ...] | None = None
    """Ids to write in place of those that give what was trained; it is still judged by what was trained."""
    graphs_both: bool = False
    allow: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CalibratePlan:
    """The pair, the wiring that is meant, and the launch as far as it is known before the pair lies there."""

    request: CalibrateRequest
    resolved: ResolvedProfile
    """With the pair in the place of the profile's own models."""
    spec: PairSpec
    wired: Wired
    flags: Flags
    folder: str
    sglang: SGLangFacts

    @property
    def provoked(self) -> bool:
        """Is something wrong on purpose?"""
        return self.request.wiring != wirings.TRAINED

    @property
    def graphs(self) -> bool:
        return not self.resolved.profile.disable_cuda_graph

    @property
    def ask(self) -> Ask:
        return Ask(self.flags.steps)

    def lines(self) -> Iterator[str]:
        spec, profile = self.spec, self.resolved.profile
        more = ", whose attention matters" if spec.looks_back else ""
        yield f"write a {spec.arch} pair{more} into {self.folder} ({self.sglang.python}; about 150 MB)"
        yield f"its draft {self.wired.told}{' (WRONG ON PURPOSE)' if self.provoked else ''}"
        yield (
            f"launch it by {profile.name}: tp {profile.tp_size}, port {profile.port}, {self.flags.algorithm}, "
            f"{self.flags.steps} steps, "
            f"CUDA graphs {'on' if self.graphs else 'off'}, log {profile.log_path}"
        )
        if self.request.graphs_both:
            yield f"then once more with CUDA graphs {'off' if self.graphs else 'on'}"
        yield from (f"without {each}" for each in self.flags.dropped)
        yield f"probe input_ids {list(PROMPT)}, {TOKENS} tokens, greedy; stop the server"

    def to_json(self) -> dict[str, Any]:
        return {
            "profile": self.resolved.profile.name,
            "pair": {
                "arch": self.spec.arch,
                "trained": list(self.spec.trained),
                "p": self.spec.p,
                "draft_vocab": self.spec.draft_vocab,
                "positions": self.spec.looks_back,
                "path": self.folder,
            },
            "wiring": {
                "name": self.wired.name,
                "ids": None if self.wired.ids is None else list(self.wired.ids),
                "outputs": None if self.wired.outputs is None else list(self.wired.outputs),
                "faults": list(self.wired.faults),
                "provoked": self.provoked,
            },
            "algorithm": self.flags.algorithm,
            "steps": self.flags.steps,
            "sglang_version": self.sglang.version,
            "dropped": list(self.flags.dropped),
        }


async def plan(node: Node, request: CalibrateRequest) -> CalibratePlan:
    """Decide on pair, ids and flags.

    Raises:
        UsageError: the profile is wrong, `allow` names no rule, or ids mean nothing that is known.
    """
    lint.require_rules(request.allow)
    if node.simulated:
        raise UsageError(f"{node.name} is simulated: there is no SGLang to calibrate")
    name = request.profile or await _latest(node)
    own = await node.profile(name, request.sets, request.env)
    spec = _spec(request, request.arch or await _arch(node, own))
    sglang = await node.sglang(own.profile.python)
    rule = await _rule(node, sglang, spec)
    if request.ids is None:
        wired = wirings.wire(request.wiring, rule, spec)
    else:
        wired = wirings.with_ids(request.ids, rule, spec)
    folder = await _folder(node, spec)
    flags = flags_for(own.profile, folder, spec, wired)
    resolved = await node.profile(name, (*request.sets, *flags.sets), request.env)
    return CalibratePlan(replace(request, profile=name), resolved, spec, wired, flags, folder, sglang)


async def run(node: Node, plan: CalibratePlan, say: Say) -> CalibrateOutcome:
    """Write, launch, probe, stop, judge; twice with `graphs_both`. A death is an outcome here.

    Raises:
        Refused: a finding that is not about the wiring stops the launch.
        NodeError: the serving Python could not write the pair.
    """
    started = time.time()
    table = await written(node, plan.spec, plan.ask, plan.wired, plan.sglang.python, say)
    seen = [await _measured(node, plan, plan.graphs, say)]
    if plan.request.graphs_both:
        seen.append(await _measured(node, plan, not plan.graphs, say))
    outcome = CalibrateOutcome(
        table.launched(plan.flags.algorithm), plan.spec, plan.wired, plan.provoked, tuple(seen), plan.to_json()
    )
    node.record(started, "calibrate", plan.to_json(), {"ok": outcome.ok, **outcome.to_json()})
    return outcome


async def saw(node: Node, request: CalibrateRequest, hist: tuple[int, ...], steps: int, say: Say) -> SawOutcome:
    """Name the wirings that give a histogram; nothing is launched. Raises UsageError."""
    if not 1 <= steps <= MOST_STEPS:
        raise UsageError(f"{steps} draft steps: 1 to {MOST_STEPS} are predicted")
    resolved = await node.profile(request.profile, request.sets) if request.profile else None
    arch = request.arch or (await _arch(node, resolved) if resolved else "llama")
    python = resolved.profile.python if resolved else serving_python(node)
    table = await written(node, _spec(request, arch), Ask(steps), None, python, say)
    return SawOutcome(table, arch, hist)


async def written(node: Node, spec: PairSpec, ask: Ask, wired: Wired | None, python: str, say: Say) -> Table:
    """Have the pair written where it is not there yet, and read what a server must accept."""
    writer = program()
    say(f"writing the {spec.arch} pair and its predictions with {python} (5 to 20 s on one core)")
    await node.agent.put(writer.sha256, writer.data)
    name = spec.name(writer.sha256)
    folder = await node.agent.write_pair(python, node.config.env, name, writer.sha256, order(spec, ask, wired))
    return tables.read(await node.agent.read_file(f"{folder}/{ask.file}"))


async def _measured(node: Node, plan: CalibratePlan, graphs: bool, say: Say) -> Seen:
    """One launch, probed and stopped."""
    request = plan.request
    sets = (*request.sets, *plan.flags.sets, f"disable_cuda_graph={'false' if graphs else 'true'}")
    allow = (*OF_WIRING, *request.allow)
    launch = await launch_server.plan(node, request.profile or "", sets, request.env, allow)
    launch = replace(launch, record={**launch.record, "calibration": plan.to_json()["pair"]})
    running = {run.run_id for run in await node.running()}
    try:
        server = (await launch_server.run(node, launch, say)).server
        return await _probed(node, server.run_id, graphs, say)
    except ServerDied as error:
        rule = str(error.findings[0].get("rule", "")) if error.findings else ""
        return Seen(graphs, died=error.message, rule=rule)
    finally:
        await _stop(node, running, say)


async def _probed(node: Node, server: str, graphs: bool, say: Say) -> Seen:
    probe = replace(await run_probe.plan(node, server, overrides=LOAD), kind="calibrate")
    result = (await run_probe.run(node, probe, say)).run.result
    if not result.valid:
        return await _failed(node, server, result.why, graphs)
    return Seen(graphs, result.accept_len, tables.trimmed(result.accept_hist) if result.accept_hist else None)


async def _failed(node: Node, server: str, why: str, graphs: bool) -> Seen:
    """A request that was not answered as it should be, by the server's log."""
    run = await node.run_of(server)
    history = await read_log.read(node, await read_log.of_run(node, run))
    first = of_history(history, run.log_path, launch=Launch(asked.read(run.argv))).first
    if run.state == "running" or first is None:
        return Seen(graphs, died=f"the request failed: {why}")
    return Seen(graphs, died=f"the server died at its first request: {first.message}", rule=first.rule)


async def _stop(node: Node, before: set[str], say: Say) -> None:
    """End the server that this calibration started, if it runs."""
    for run in await node.running():
        if run.run_id not in before and run.operator == node.operator and "calibration" in run.record:
            stopped = await stop_server.run(node, await stop_server.plan(node, run.run_id, None, STOP_GRACE_S), say)
            say(stopped.proof)


def _spec(request: CalibrateRequest, arch: Arch) -> PairSpec:
    if not 0 < request.p <= 1:
        raise UsageError(f"--p {request.p:g}: the share of tokens that the draft knows, above 0 and at most 1")
    if not 64 <= request.draft_vocab <= LIVE_TOKENS:
        raise UsageError(f"--draft-vocab {request.draft_vocab}: 64 to {LIVE_TOKENS}")
    return PairSpec(arch, p=request.p, draft_vocab=request.draft_vocab, looks_back=request.looks_back)


async def _latest(node: Node) -> str:
    """The profile of this operator's newest launch here."""
    own = [run for run in await node.agent.servers() if run.operator == node.operator]
    names = [str((run.record.get("profile") or {}).get("name") or "") for run in own]
    found = [name for name in names if name]
    if not found:
        hint = f"spec-console calibrate {node.name} --profile P."
        raise UsageError("whose flags? no profile was launched here yet", hint)
    return found[-1]


async def _arch(node: Node, resolved: ResolvedProfile) -> Arch:
    """The pair that is most like the profile's own target."""
    names = (await architectures(node, resolved)).target
    known = targets.target(names[0]) if names else None
    return "deepseek_v2" if known is not None and known.file == "deepseek_v2" else "llama"


async def _rule(node: Node, sglang: SGLangFacts, spec: PairSpec) -> Rule:
    """What ids mean for the pair's target in the installed SGLang. Raises UsageError."""
    target = spec.target_config()
    found = resolve(sglang.version, target, {}, await installed_rule(node, sglang, target))
    if found.rule is None:
        raise UsageError(f"what layer ids mean here is not known: {found.unknown}", "The pair needs a known SGLang.")
    return found.rule


async def _folder(node: Node, spec: PairSpec) -> str:
    state = (await node.agent.facts()).state_dir
    if state is None:
        raise UsageError(f"{node.name} has no state directory to write a pair into")
    return f"{state}/{FOLDER}/{spec.name(program().sha256)}"
