"""The runbook: free → patch → launch → probe → shapes → compare, each step with its proof; resumed where it stopped.

The baseline comes first when no stored run matches: it is launched, probed, and stopped. The patch is applied before
that, so that both sides run from the same tree. Steps may be left out or put in before the start.
"""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from console import lint
from console.actions import run_probe, runbook_steps
from console.actions.runbook_acts import Acts
from console.errors import ConsoleError, UsageError
from console.launch.secrets import MASK, is_secret_value, looks_secret

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from console.actions.node import Node, Say
    from console.launch.loader import ResolvedProfile
    from console.launch.profile import Profile
    from console.probe.compare import Comparison
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
    kind: str = ""
    """What it does, one of `runbook_steps.KINDS`."""
    made: str = ""
    """Id of the server that it launched or read, or of the stored run that it made or found; empty where neither is."""

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
    steps: tuple[str, ...] = ()
    """Kinds of steps in their order; empty: the profile's own."""
    skip: tuple[str, ...] = ()
    """Ids of steps to leave out."""
    insert: tuple[str, ...] = ()
    """Steps to put in: see `runbook_steps.arrange`."""

    def changes(self) -> list[str]:
        """The words that change the profile, as the verb takes them; of a value that looks secret only its name."""
        words = [word for each in self.sets for word in ("--set", each)]
        for each in self.env:
            name, _, value = each.partition("=")
            words += ["--env", f"{name}={MASK}" if looks_secret(name) or is_secret_value(value) else each]
        words += [word for each in self.allow for word in ("--allow", each)]
        return [*words, *(["--delivery", self.delivery] if self.delivery else [])]


@dataclass(frozen=True, slots=True)
class RunbookPlan:
    """The checklist before anything was done."""

    request: RunbookRequest
    resolved: ResolvedProfile
    steps: tuple[Step, ...]
    baseline: str | None

    def lines(self) -> Iterator[str]:
        yield f"profile {shlex.join([self.request.profile, *self.request.changes()])}"
        is_over = self.request.start is not None
        for step in self.steps:
            is_over = is_over and step.id != self.request.start
            yield f"{'skipped' if is_over else step.state:>8} {step.id}: {step.title}"


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
    """Resolve the profile and list the steps. Raises UsageError, for an `allow` that names no rule too."""
    lint.require_rules(request.allow)
    resolved = await node.profile(request.profile, request.sets, request.env)
    profile = resolved.profile
    steps = checklist(profile, request.steps, request.skip, request.insert)
    ids = [step.id for step in steps if step.state != "skipped"]
    if request.start is not None and request.start not in ids:
        raise UsageError(f"no step {request.start!r}", f"Steps: {', '.join(ids)}.")
    return RunbookPlan(request, resolved, steps, profile.baseline.profile if profile.baseline else None)


def checklist(
    profile: Profile, kinds: Sequence[str] = (), skip: Sequence[str] = (), insert: Sequence[str] = ()
) -> tuple[Step, ...]:
    """List the steps that a profile is walked by, its own where no kinds are given. Raises UsageError."""
    entries = runbook_steps.arrange(kinds or runbook_steps.own_kinds(profile), skip, insert)
    runbook_steps.check(profile, [entry.kind for entry in entries if not entry.is_skipped])
    titles = _titles(profile)
    return tuple(_step(each, titles[each.kind], _no_need(profile, each)) for each in entries)


def _step(entry: runbook_steps.Entry, title: str, no_need: str) -> Step:
    return Step(entry.id, title, "skipped" if no_need else "waiting", no_need, kind=entry.kind)


def _no_need(profile: Profile, entry: runbook_steps.Entry) -> str:
    """Why a step is not to be done; empty where it is."""
    if entry.is_skipped:
        return "left out"
    return "" if entry.kind != "shapes" or profile.patch_ids else "no shape lines are asked for by this profile"


def _titles(profile: Profile) -> dict[str, str]:
    baseline = profile.baseline.profile if profile.baseline else "the baseline"
    return {
        "free": "this operator's servers end, GPUs are measured free",
        "patch": f"{', '.join(profile.patch_ids)} applied, read back and compiled",
        "baseline": f"a stored run of {baseline}, or one is made",
        "launch": "preflight, exact command, ready",
        "probe": "tok/s, TTFT, accept_len",
        "shapes": "widths against the checkpoint",
        "compare": f"against {baseline}, both numbers and what differs",
        "stop": "the server ends, its GPUs are measured free",
        "revert": "the patches come off, and that is proved",
    }


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
        self.outcome = RunbookOutcome(list(plan.steps))
        self._acts = Acts(node, plan, self.outcome, say)

    async def go(self) -> None:
        started = time.time()
        ids = [step.id for step in self.outcome.steps]
        first = ids.index(self._plan.request.start) if self._plan.request.start else 0
        for index, step in enumerate(self.outcome.steps):
            if step.state == "skipped" or index < first:
                self._set(index, replace(step, state="skipped", proof=step.proof or "resumed after it"))
                continue
            if not await self._step(index, step):
                break
        request = {"profile": self._plan.request.profile, "sets": list(self._plan.request.sets), "steps": ids}
        told = {"ok": self.outcome.ok, "steps": [step.to_json() for step in self.outcome.steps]}
        self._node.record(started, "runbook", request, told)

    async def _step(self, index: int, step: Step) -> bool:
        started = time.monotonic()
        self._set(index, replace(step, state="running"))
        try:
            self._acts.made = ""
            proof = await self._acts.by_kind[step.kind]()
        except ConsoleError as error:
            self.outcome.error = error
            elapsed = time.monotonic() - started
            failed = replace(step, state="failed", proof=error.message, elapsed_s=elapsed, made=self._acts.made)
            self._set(index, failed)
            return False
        elapsed = time.monotonic() - started
        self._set(index, replace(step, state="done", proof=proof, elapsed_s=elapsed, made=self._acts.made))
        return True

    def _set(self, index: int, step: Step) -> None:
        self.outcome.steps[index] = step
        self._say(f"[{step.state}] {step.id}: {step.proof or step.title}")
        self._show(tuple(self.outcome.steps))
