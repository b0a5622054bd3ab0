"""Sweep: every combination of some keys, each launched, read back and probed the same way, between two baselines.

Its state lies in the journal, point by point, so that it goes on after any interruption; see `walk_sweep`.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from console import lint
from console.actions import doctor, pace, walk_sweep
from console.actions.read_back import KEEP_ENVIRON
from console.errors import Refused, UsageError
from console.launch.command import render
from console.launch.derived import derived_yaml
from console.launch.needs import needs
from console.probe import sweep_axes as axes
from console.probe.sweep import StoredSweep, SweepPoint
from console.probe.sweep_plan import SweepPlan
from console.units import format_rate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from console.actions.node import Node, Say
    from console.launch.loader import ResolvedProfile
    from console.lint.context import Launch
    from console.probe.sweep_outcome import SweepOutcome

SHARED = ("port", "host", "gpus")
"""Keys that the baseline gets too: where it listens and runs. The load it gets anyway."""
FILES = ("model_path", "python", "cwd", "speculative.draft_model_path")
"""Keys that lead to other files: a point that sets one is examined with its own."""


@dataclass(frozen=True, slots=True)
class SweepRequest:
    """What the user asked for; texts as they were given."""

    profile: str
    steps: str | None = None
    sets: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    cycle: bool = False
    budget_min: float | None = None

    @property
    def given_axes(self) -> tuple[axes.Axis, ...]:
        steps = (axes.steps_axis(self.steps),) if self.steps else ()
        others = *map(axes.set_axis, self.sets), *map(axes.env_axis, self.env), *map(axes.arg_axis, self.args)
        return (*steps, *others)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> SweepRequest:
        known = {each.name for each in fields(cls)} & data.keys()
        values: dict[str, Any] = {
            name: tuple(data[name]) if isinstance(data[name], list) else data[name] for name in known
        }
        return cls(**values)


@dataclass(frozen=True, slots=True)
class PlannedSweep:
    """The plan to be shown, and what is needed to carry it out."""

    request: SweepRequest
    plan: SweepPlan
    resolved: ResolvedProfile
    fixed: Mapping[str, Any]
    """What is set for every point: value by key, `env.NAME` among them."""
    varies: tuple[str, ...]
    """Keys in which a point may differ from the baseline."""

    def lines(self) -> Iterator[str]:
        return self.plan.lines()

    def to_json(self) -> dict[str, Any]:
        return self.plan.to_json()

    @property
    def own_baseline(self) -> bool:
        """The profile names no baseline: it is its own, with nothing swept."""
        return self.resolved.profile.baseline is None

    def launch_words(self, point: SweepPoint) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
        """Profile, --set and --env of the launch of a point."""
        if point.kind == "point":
            sets = (*_words(self.fixed), *axes.set_words(point.set, point.env))
            return self.request.profile, sets, (KEEP_ENVIRON,)
        shared = {key: value for key, value in self.fixed.items() if key in SHARED or self.own_baseline}
        return self.plan.baseline, _words(shared), (KEEP_ENVIRON,)

    def stored(self, at: float) -> StoredSweep:
        """As the journal keeps it."""
        told = {**asdict(self.request), "profile_sha256": self.resolved.sha256}
        return StoredSweep(
            self.plan.sweep_id, at, self.plan.node, self.request.profile, told, "planned", self.plan.points
        )


async def plan(node: Node, request: SweepRequest) -> PlannedSweep:
    """Multiply the axes and examine every point; nothing is stored or started.

    Raises:
        UsageError: the profile, an axis or an allowed rule is wrong, or every point by itself. Where others can be
            launched a point that is wrong by itself is part of the plan, failed.
    """
    lint.require_rules(request.allow)
    planned = await _resolved(node, request, _new_id())
    found = await _examined(node, planned)
    ends = SweepPoint(1, "baseline_start"), SweepPoint(len(found) + 2, "baseline_end")
    again = _unfinished(node, planned)
    notes = (f"{again} is the same sweep, not finished: --resume {again} goes on with it",) if again else ()
    estimate = await pace.estimate(node, planned.resolved, planned.plan.baseline, cycle=request.cycle)
    full = replace(planned.plan, points=(ends[0], *found, ends[1]), estimate=estimate, notes=notes)
    _require_points(full)
    return replace(planned, plan=full)


async def resume(node: Node, reference: str, budget_min: float | None = None) -> PlannedSweep:
    """Plan what is left of a stored sweep: what was measured stays, what failed or was left out is tried again.

    Raises:
        UsageError: it names no sweep of this node.
        Refused: its profile is another one now.
    """
    stored = node.journal.get_sweep(reference, node.name)
    request = replace(SweepRequest.from_json(stored.request), budget_min=budget_min)
    planned = await _resolved(node, request, stored.sweep_id)
    if planned.resolved.sha256 != stored.request.get("profile_sha256"):
        raise Refused(
            f"the profile {request.profile} has changed since sweep {stored.sweep_id} began",
            "Put it back as it was, or begin a new sweep: points of two profiles are not one sweep.",
        )
    points = tuple(map(_again, stored.points))
    estimate = await pace.estimate(node, planned.resolved, planned.plan.baseline, cycle=request.cycle)
    return replace(planned, plan=replace(planned.plan, points=points, estimate=estimate, resumed=True))


async def run(
    node: Node, plan: PlannedSweep, say: Say, show: Callable[[SweepOutcome], None] = lambda _outcome: None
) -> SweepOutcome:
    """Measure every point that is left; `show` gets the sweep as it stands after every step.

    Raises:
        Refused: another sweep of this node is running on this machine.
        NodeLost, Unreachable: the node went away; the journal has what was measured, and `resume` goes on.
    """
    with node.journal.hold_sweeps(node.name):
        if not plan.plan.resumed:
            node.journal.add_sweep(plan.stored(time.time()))
        return await walk_sweep.walk(node, plan, say, show)


def best_profile(planned: PlannedSweep, outcome: SweepOutcome) -> str:
    """The best point as the text of a profile that extends the swept one. Raises UsageError where there is none."""
    if outcome.best is None:
        raise UsageError("no point was measured", "The sweep's lines say why.")
    point, baseline = outcome.best.point, planned.resolved.profile.baseline
    swept = {**point.set, **{f"env.{name}": value for name, value in point.env.items()}}
    rate = format_rate(point.run.output_tok_s if point.run else None)
    simulated = "SIMULATED, " if point.run and point.run.simulated else ""
    told = f"{point.label}: {simulated}{rate}, the best of {planned.plan.size} in sweep {outcome.sweep_id}"
    values = {**planned.fixed, **swept}
    return derived_yaml(planned.request.profile, told, values, baseline.profile if baseline else None, planned.varies)


async def _resolved(node: Node, request: SweepRequest, sweep_id: str) -> PlannedSweep:
    """The sweep without its points."""
    given = request.given_axes
    fixed = {each.key: each.values[0] for each in given if not each.is_swept}
    if axes.DRAFT_TOKENS not in [each.key for each in given]:
        fixed = axes.coherent(fixed, (await node.profile(request.profile)).profile.speculative)
    resolved = await node.profile(request.profile, _words(fixed))
    swept = [each for each in given if each.is_swept] or list(axes.profile_axes(resolved.profile.sweep))
    baseline = resolved.profile.baseline
    axes.combinations(swept)  # said before anything is read
    keys = [each.key for each in (*given, *swept)]
    declared = baseline.varies if baseline else ()
    follows = (axes.DRAFT_TOKENS,) if {axes.STEPS, axes.TOPK} & {*keys} else ()
    return PlannedSweep(
        request=request,
        plan=SweepPlan(
            sweep_id=sweep_id,
            node=node.name,
            profile=request.profile,
            baseline=baseline.profile if baseline else request.profile,
            points=(),
            axes=tuple(each.text for each in swept),
            estimate=pace.UNKNOWN,
            budget_s=None if request.budget_min is None else 60 * request.budget_min,
        ),
        resolved=resolved,
        fixed=fixed,
        varies=tuple(dict.fromkeys([*declared, *keys, *follows])),
    )


def _require_points(plan: SweepPlan) -> None:
    """Raises UsageError where only the baselines are left: they would be launched for nothing."""
    swept = [point for point in plan.points if point.kind == "point"]
    if all(point.state == "failed" for point in swept):
        error = UsageError(
            f"none of the {len(swept)} points can be launched",
            "Nothing was started: each line above says why.",
            "\n".join(point.line() for point in swept),
        )
        error.plan = plan.to_json()
        raise error


async def _examined(node: Node, planned: PlannedSweep) -> tuple[SweepPoint, ...]:
    """Every point, those that cannot run failed with the reason."""
    given = [each for each in planned.request.given_axes if each.is_swept]
    swept = given or list(axes.profile_axes(planned.resolved.profile.sweep))
    base, own = await _launch(node, planned.resolved), planned.resolved.profile.speculative
    found = []
    for number, values in enumerate(axes.combinations(swept), 2):
        point, why = SweepPoint(number, "point", *axes.split(values)), ""
        try:
            point = SweepPoint(number, "point", *axes.split(axes.coherent(values, own)))
            why = await _wrong(node, planned, point, base)
        except UsageError as error:
            why = error.message
        found.append(replace(point, state="failed", why=why) if why else point)
    return tuple(found)


async def _wrong(node: Node, planned: PlannedSweep, point: SweepPoint, base: Launch) -> str:
    """Why a point cannot be launched, as far as its files and flags tell; empty when nothing is known against it."""
    profile, sets, env = planned.launch_words(point)
    resolved = await node.profile(profile, sets, env)
    if any(key in FILES for key in point.set):
        launch = await _launch(node, resolved)
    else:
        asked = doctor.asked_of(render(resolved, node.config.env))
        launch = replace(base, asked=asked, profile=resolved.profile)
    findings = lint.check(launch)
    errors = [each for each in findings if each.severity == "error" and each.rule not in planned.request.allow]
    return "; ".join(f"{each.message} [{each.rule}]" for each in errors)


async def _launch(node: Node, resolved: ResolvedProfile) -> Launch:
    sglang = await node.sglang(needs(resolved).python)
    return await doctor.on_node(node, resolved, render(resolved, node.config.env), sglang, await node.inventory())


def _again(point: SweepPoint) -> SweepPoint:
    """A point as a resumed sweep takes it: one in flight stays so, for its server may still run."""
    if point.state == "left_out" or (point.state == "failed" and point.tried):
        return replace(point, state="waiting", why="", died=False, elapsed_s=0.0)
    return point


def _unfinished(node: Node, planned: PlannedSweep) -> str:
    """The id of a sweep that was asked for in the same words and has points left."""
    wanted = {**asdict(planned.request), "profile_sha256": planned.resolved.sha256, "budget_min": None}
    for each in node.journal.list_sweeps(node.name):
        same = {**each.request, "budget_min": None} == {k: _plain(v) for k, v in wanted.items()}
        if same and each.state != "done":
            return each.sweep_id
    return ""


def _words(values: Mapping[str, Any]) -> tuple[str, ...]:
    return axes.set_words(*axes.split(values))


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _new_id() -> str:
    """Sorts by time: s20261130T010203-a1b2 (UTC)."""
    return f"s{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{secrets.token_hex(2)}"
