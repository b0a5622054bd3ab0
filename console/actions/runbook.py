"""The runbook: free → patch → launch → probe → shapes → compare, each step with its proof; resumed where it stopped.

The baseline comes first when no stored run matches: it is launched, probed, and stopped. The patch is applied before
that, so that both sides run from the same tree.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from console.actions import apply_patch, deliver, free_gpus, launch_server, read_log, run_probe, stop_server
from console.actions.patch_state import PatchRequest
from console.errors import ConsoleError, NegativeResult, UsageError
from console.launch.command import render
from console.node.free_plan import FreeRequest
from console.probe.compare import Comparison, compare
from console.probe.workload import workload_from_profile

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from console.actions.await_ready import LaunchOutcome
    from console.actions.node import Node, Say
    from console.launch.loader import ResolvedProfile
    from console.logs.shapes import ShapeRow
    from console.probe.stored import StoredRun
    from remote_agent.protocol import ServerRun

State = Literal["waiting", "running", "done", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class Step:
    """One line of the checklist."""

    id: str
    title: str
    state: State = "waiting"
    proof: str = ""
    elapsed_s: float = 0.0

    def to_json(self) -> dict[str, Any]:
        return {"id": self.id, "state": self.state, "proof": self.proof, "elapsed_s": round(self.elapsed_s, 2)}


@dataclass(frozen=True, slots=True)
class RunbookRequest:
    """A profile to walk, and what was done already: `start` is the step to resume at."""

    profile: str
    sets: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    start: str | None = None
    gpus: tuple[int, ...] = ()
    delivery: str | None = None


@dataclass(frozen=True, slots=True)
class RunbookPlan:
    """The checklist before anything was done."""

    request: RunbookRequest
    resolved: ResolvedProfile
    steps: tuple[Step, ...]
    baseline: str | None

    def lines(self) -> Iterator[str]:
        yield f"profile {self.request.profile}"
        for step in self.steps:
            yield f"{step.state:>8} {step.id}: {step.title}"


@dataclass(slots=True)
class RunbookOutcome:
    """The checklist as it ended."""

    steps: list[Step]
    error: ConsoleError | None = None
    comparison: Comparison | None = None
    shapes: list[dict[str, object]] = field(default_factory=list)
    run: StoredRun | None = None
    server: ServerRun | None = None

    @property
    def ok(self) -> bool:
        return self.error is None

    @property
    def failed(self) -> Step | None:
        return next((step for step in self.steps if step.state == "failed"), None)

    def lines(self) -> Iterator[str]:
        for step in self.steps:
            yield f"{step.state:>8} {step.id}: {step.proof or step.title} ({step.elapsed_s:.1f} s)"

    def to_json(self) -> dict[str, Any]:
        return {
            "steps": [step.to_json() for step in self.steps],
            "shapes": self.shapes,
            "run": run_probe.ProbeOutcome(self.run).to_json()["run"] if self.run else None,
            "comparison": self.comparison.to_json() if self.comparison else None,
            "server": {"id": self.server.run_id, "port": self.server.port} if self.server else None,
        }


async def plan(node: Node, request: RunbookRequest) -> RunbookPlan:
    """Resolve the profile and list the steps. Raises UsageError."""
    resolved = await node.profile(request.profile, request.sets, request.env)
    baseline = resolved.profile.baseline
    steps = [Step("free", "this operator's servers end, GPUs are measured free")]
    if resolved.profile.patch_ids:
        steps.append(Step("patch", f"{', '.join(resolved.profile.patch_ids)} applied, read back and compiled"))
    if baseline:
        steps.append(Step("baseline", f"a stored run of {baseline.profile}, or one is made"))
    steps += [
        Step("launch", "preflight, exact command, ready"),
        Step("probe", "tok/s, TTFT, accept_len"),
        Step("shapes", "widths against the checkpoint"),
    ]
    if baseline:
        steps.append(Step("compare", f"against {baseline.profile}, both numbers and what differs"))
    ids = [step.id for step in steps]
    if request.start is not None and request.start not in ids:
        raise UsageError(f"no step {request.start!r}", f"Steps: {', '.join(ids)}.")
    return RunbookPlan(request, resolved, tuple(steps), baseline.profile if baseline else None)


async def run(
    node: Node, plan: RunbookPlan, say: Say, show: Callable[[Sequence[Step]], None] = lambda _steps: None
) -> RunbookOutcome:
    """Walk the steps; stop at the first failure, which `outcome.error` holds. `show` gets the checklist."""
    walk = _Walk(node, plan, say, show)
    await walk.go()
    return walk.outcome


class _Walk:
    """One walk through the checklist."""

    def __init__(self, node: Node, plan: RunbookPlan, say: Say, show: Callable[[Sequence[Step]], None]) -> None:
        self._node = node
        self._plan = plan
        self._say = say
        self._show = show
        self._baseline_run: StoredRun | None = None
        self.outcome = RunbookOutcome(list(plan.steps))
        self._acts: dict[str, Callable[[], Awaitable[str]]] = {
            "free": self._free,
            "patch": self._patch,
            "baseline": self._baseline,
            "launch": self._launch,
            "probe": self._probe,
            "shapes": self._shapes,
            "compare": self._compare,
        }

    async def go(self) -> None:
        started = time.time()
        ids = [step.id for step in self.outcome.steps]
        first = ids.index(self._plan.request.start) if self._plan.request.start else 0
        for index, step in enumerate(self.outcome.steps):
            if index < first:
                self._set(index, replace(step, state="skipped", proof="resumed after it"))
                continue
            if not await self._step(index, step):
                break
        request = {"profile": self._plan.request.profile, "sets": list(self._plan.request.sets)}
        told = {"ok": self.outcome.ok, "steps": [step.to_json() for step in self.outcome.steps]}
        self._node.record(started, "runbook", request, told)

    async def _step(self, index: int, step: Step) -> bool:
        started = time.monotonic()
        self._set(index, replace(step, state="running"))
        try:
            proof = await self._acts[step.id]()
        except ConsoleError as error:
            self.outcome.error = error
            elapsed = time.monotonic() - started
            self._set(index, replace(step, state="failed", proof=error.message, elapsed_s=elapsed))
            return False
        self._set(index, replace(step, state="done", proof=proof, elapsed_s=time.monotonic() - started))
        return True

    def _set(self, index: int, step: Step) -> None:
        self.outcome.steps[index] = step
        self._say(f"[{step.state}] {step.id}: {step.proof or step.title}")
        self._show(tuple(self.outcome.steps))

    async def _free(self) -> str:
        gpus = self._plan.request.gpus or self._plan.resolved.profile.gpus or ()
        freeing = await free_gpus.plan(self._node, FreeRequest(gpus=tuple(gpus)))
        outcome = await free_gpus.run(self._node, freeing, self._say)
        if not outcome.ok and outcome.gpus:
            raise NegativeResult(outcome.proof, "`status` shows who holds them.")
        return outcome.proof

    async def _patch(self) -> str:
        request = PatchRequest(
            profile=self._plan.request.profile, sets=self._plan.request.sets, delivery=self._plan.request.delivery
        )
        outcome = await deliver.run(self._node, await apply_patch.plan(self._node, request), self._say)
        if not outcome.ok:
            raise NegativeResult(outcome.proof, "`patch revert` takes it back.")
        return outcome.proof

    async def _baseline(self) -> str:
        found = await self._stored_baseline()
        if found is not None:
            self._baseline_run = found
            return f"stored run {found.run_id}: {run_probe.ProbeOutcome(found).proof}"
        assert self._plan.baseline
        launched = await self._launched(self._plan.baseline)
        try:
            outcome = await self._probed(launched.server)
        finally:
            stopping = await stop_server.plan(self._node, launched.server.run_id, None, 30.0)
            stopped = await stop_server.run(self._node, stopping, self._say)
        if not stopped.ok:
            raise NegativeResult(stopped.proof, "`status` shows what is left.")
        self._baseline_run = outcome.run
        return f"made: {outcome.proof}"

    async def _launch(self) -> str:
        outcome = await self._launched(self._plan.request.profile)
        self.outcome.server = outcome.server
        return outcome.proof

    async def _probe(self) -> str:
        outcome = await self._probed(await self._server())
        self.outcome.run = outcome.run
        return outcome.proof

    async def _shapes(self) -> str:
        if not self._plan.resolved.profile.patch_ids:
            return "no shape lines are asked for by this profile"
        source = await read_log.find(self._node, (await self._server()).run_id)
        history = await read_log.read(self._node, source)
        rows = history.shapes.rows()
        self.outcome.shapes = history.shapes.to_json(source.judge)
        wrong = [source.judge(row).sentence for row in rows if source.judge(row).state == "wrong"]
        if wrong:
            raise NegativeResult(f"wrong widths: {'; '.join(wrong)}", "`logs --shapes` shows the table.")
        fc_in = [row for row in rows if row.site == "draft.fc_in"]
        if not rows:
            raise NegativeResult("no shape line in the log", "Is the patch applied, EAGLE3_DEBUG=1 set, graphs off?")
        return "; ".join(_told(row) for row in _widest(fc_in or list(rows)))

    async def _compare(self) -> str:
        candidate = self.outcome.run or self._latest(self._plan.request.profile)
        baseline = self._baseline_run or await self._stored_baseline() or self._latest(self._plan.baseline or "")
        declared = self._plan.resolved.profile.baseline
        comparison = compare(baseline, candidate, declared.varies if declared else ())
        self.outcome.comparison = comparison
        a, b = (run_probe.ProbeOutcome(each).proof for each in (baseline, candidate))
        why = f" ({comparison.why})" if comparison.why else ""
        return f"{comparison.verdict}{why}; baseline {a}; candidate {b}; {len(comparison.differs)} differences"

    async def _launched(self, profile: str) -> LaunchOutcome:
        request = self._plan.request
        own = profile == request.profile
        planned = await launch_server.plan(
            self._node, profile, request.sets if own else self._shared_sets(), request.env if own else (), request.allow
        )
        outcome = await launch_server.run(self._node, planned, self._say)
        if not outcome.ok:
            raise NegativeResult(outcome.proof, "`patch verify` shows what the overlay would serve.")
        return outcome

    def _shared_sets(self) -> tuple[str, ...]:
        """What was set for the candidate alone must not reach the baseline; where it listens and logs must."""
        return tuple(each for each in self._plan.request.sets if each.split("=", 1)[0] in ("port", "host", "gpus"))

    async def _probed(self, server: ServerRun) -> run_probe.ProbeOutcome:
        # Both sides get the candidate's load: a comparison of two loads says nothing.
        load = self._plan.resolved.profile.probe.given()
        outcome = await run_probe.run(
            self._node, await run_probe.plan(self._node, server.run_id, overrides=load), self._say
        )
        if not outcome.ok:
            raise NegativeResult(outcome.proof, "`logs` shows the server's side.")
        return outcome

    async def _server(self) -> ServerRun:
        return self.outcome.server or await self._node.server()

    def _latest(self, profile: str) -> StoredRun:
        runs = [run for run in self._node.journal.list_runs(self._node.name) if run.profile == profile]
        if not runs:
            raise NegativeResult(f"no stored run of {profile} on {self._node.name}", "Resume at the step `probe`.")
        return runs[0]

    async def _stored_baseline(self) -> StoredRun | None:
        """The newest run that a launch of the baseline profile would repeat."""
        if self._plan.baseline is None:
            return None
        planned = await launch_server.plan(self._node, self._plan.baseline, self._shared_sets())
        command = render(planned.resolved, self._node.config.env)
        server = _as_if_launched(planned, command.argv, command.masked_env(), self._node.operator)
        load = workload_from_profile(self._plan.resolved.profile.probe.given())
        expected = await run_probe.fingerprint_of(self._node, run_probe.ProbePlan(server, load))
        return self._node.journal.find_baseline(self._node.name, expected, profile=self._plan.baseline)


def _as_if_launched(
    planned: launch_server.LaunchPlan, argv: tuple[str, ...], env: dict[str, str], operator: str
) -> ServerRun:
    from remote_agent.protocol import ServerRun

    command = planned.command
    return ServerRun(
        "", operator, list(argv), env, "", command.log_path, 0, command.port, 0.0, "", record=planned.record
    )


def _told(row: ShapeRow) -> str:
    return f"{row.site} {row.model} {row.mode} last dim {row.widths[-1] if row.widths else '?'} on ranks {row.ranks}"


def _widest(rows: list[ShapeRow]) -> list[ShapeRow]:
    """The rows that show the captured width: what the draft feeds itself is narrower."""
    top = max((max((w for w in row.widths if w is not None), default=0) for row in rows), default=0)
    return [row for row in rows if top in row.widths]
