"""What each capital letter does: plan with an action, and run that plan when it was confirmed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from console.actions import (
    apply_patch,
    deliver,
    free_gpus,
    launch_server,
    revert_patch,
    run_probe,
    runbook,
    stop_server,
    sweep,
)
from console.actions.patch_state import PatchRequest
from console.node.free_plan import FreeRequest
from console.state.events import RunbookMoved
from console.tui import translate
from console.tui.sweep_course import SweepCourse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from console.actions.node import Node, Say
    from console.actions.sweep import PlannedSweep
    from console.errors import ConsoleError, Refused
    from console.state.events import Event
    from console.state.model import ConsoleState

GRACE_S = 30.0
"""Seconds between TERM and KILL, as the command line has it."""


class Outcome(Protocol):
    """What every action's outcome has."""

    @property
    def ok(self) -> bool: ...

    @property
    def proof(self) -> str: ...

    def lines(self) -> Iterator[str]: ...


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan to be shown, and what carries it out."""

    lines: tuple[str, ...]
    run: Callable[[Say], Awaitable[Outcome]]
    diff: str = ""
    refusal: str = ""
    """Why it cannot be confirmed; empty when it can."""


Emit = Callable[["Event"], None]
Plan = Callable[["Node", "ConsoleState", Emit], Awaitable[Planned]]


def _why(refusal: Refused | None) -> str:
    return refusal.message if refusal else ""


async def _free(node: Node, _state: ConsoleState, _emit: Emit) -> Planned:
    return await _freeing(node, FreeRequest())


def free_chosen(flags: str) -> Plan:
    """Plan a free of what the flags name, as `free` of the command line takes them: --pid N, or --server ID."""
    flag, _, value = flags.partition(" ")
    request = FreeRequest(pids=(int(value),)) if flag == "--pid" else FreeRequest(servers=(value,))

    async def plan(node: Node, _state: ConsoleState, _emit: Emit) -> Planned:
        return await _freeing(node, request)

    return plan


async def _freeing(node: Node, request: FreeRequest) -> Planned:
    plan = await free_gpus.plan(node, request)
    measured = ("the GPUs are measured, and said to be free or why not",)
    refused = f"{plan.nothing} (`:free --pid N` ends what others hold; Tab lists them)" if plan.is_empty else ""
    return Planned((*plan.lines(), *measured), lambda say: free_gpus.run(node, plan, say), refusal=refused)


async def _patch(node: Node, state: ConsoleState, _emit: Emit) -> Planned:
    return await _patching(node, PatchRequest(profile=state.profiles.selected))


async def _patch_in_place(node: Node, state: ConsoleState, _emit: Emit) -> Planned:
    return await _patching(node, PatchRequest(profile=state.profiles.selected, delivery="in-place"))


async def _patching(node: Node, request: PatchRequest) -> Planned:
    plan = await apply_patch.plan(node, request)
    refused = _why(deliver.refusal(plan))
    nothing = () if plan.changes or refused else ("nothing is to be put in: what is there is read and compiled again",)
    diff = "".join(file.diff for file in (*plan.changes, *plan.blockers))
    return Planned((*plan.lines(), *nothing), lambda say: deliver.run(node, plan, say), diff, refused)


async def _revert(node: Node, state: ConsoleState, _emit: Emit) -> Planned:
    plan = await revert_patch.plan(node, PatchRequest(profile=state.profiles.selected or None))
    return Planned(tuple(plan.lines()), lambda say: revert_patch.run(node, plan, say))


async def _launch(node: Node, state: ConsoleState, _emit: Emit) -> Planned:
    plan = await launch_server.plan(node, state.profiles.selected)
    view = translate.launch_view(state.profiles.selected, plan)
    # Findings before the command: on a small screen only the first lines are seen at once.
    findings = (f"{each.severity}: {each.message} [{each.rule}] {each.hint}".rstrip() for each in view.findings)
    lines = (*findings, *view.wiring, *view.command)
    return Planned(lines, lambda say: launch_server.run(node, plan, say), refusal=_why(plan.refusal))


async def _probe(node: Node, state: ConsoleState, _emit: Emit) -> Planned:
    meant = state.servers.meant
    plan = await run_probe.plan(node, meant.run_id if meant else None)
    theirs = () if plan.server.operator == node.operator else (f"the server belongs to {plan.server.operator}",)
    return Planned((*theirs, *plan.lines()), lambda say: run_probe.run(node, plan, say))


async def _stop(node: Node, state: ConsoleState, _emit: Emit) -> Planned:
    meant = state.servers.meant
    plan = await stop_server.plan(node, meant.run_id if meant else None, None, GRACE_S)
    return Planned(tuple(plan.lines()), lambda say: stop_server.run(node, plan, say))


def walk_request(state: ConsoleState) -> runbook.RunbookRequest:
    """Return what is asked of a walk: the checklist as it stands, from the first step that is still to be done."""
    profile, book = state.profiles.selected, state.runbook
    if book.profile != profile or not book.steps:
        return runbook.RunbookRequest(profile)
    at, kinds = book.resumes_at, tuple(step.kind for step in book.steps)
    request = runbook.RunbookRequest(profile, start=at.id if at else None, steps=kinds, skip=book.skip)
    if (file := book.file) is None:
        return request
    return replace(request, sets=file.sets, env=file.env, allow=file.allow, delivery=file.delivery)


async def _runbook(node: Node, state: ConsoleState, emit: Emit) -> Planned:
    request = walk_request(state)
    profile, plan = request.profile, await runbook.plan(node, request)
    again = f"resumes at {request.start}: what is before it stays as it is (`clear` puts the checklist away)"
    resumed = (again,) if request.start else ()

    def show(steps: Sequence[runbook.Step]) -> None:
        emit(RunbookMoved(profile, translate.steps(steps)))

    async def walk(say: Say) -> Outcome:
        return WalkOutcome(await runbook.run(node, plan, say, show))

    return Planned((*resumed, *plan.lines()), walk)


@dataclass(frozen=True, slots=True)
class WalkOutcome:
    """A walk's outcome, with a proof of the whole."""

    walked: runbook.RunbookOutcome

    @property
    def ok(self) -> bool:
        return self.walked.ok

    @property
    def error(self) -> ConsoleError | None:
        """What stopped it."""
        return self.walked.error

    @property
    def proof(self) -> str:
        failed = self.walked.failed
        if failed:
            return f"stopped at {failed.id}: {failed.proof}; the runbook resumes there"
        done = sum(step.state == "done" for step in self.walked.steps)
        return f"{done} steps done; {self.walked.steps[-1].proof}"

    def lines(self) -> Iterator[str]:
        return self.walked.lines()


async def _sweep(node: Node, state: ConsoleState, emit: Emit) -> Planned:
    return _sweeping(node, await sweep.plan(node, sweep.SweepRequest(state.profiles.selected)), emit)


async def _resume_sweep(node: Node, state: ConsoleState, emit: Emit) -> Planned:
    shown = state.sweep.shown
    assert shown, "the key says why not before"
    return _sweeping(node, await sweep.resume(node, shown.sweep_id), emit)


def _sweeping(node: Node, planned: PlannedSweep, emit: Emit) -> Planned:
    return Planned(tuple(planned.lines()), lambda say: SweepCourse(planned, emit).walk(node, say))


PLANS: dict[str, Plan] = {
    "free": _free,
    "patch": _patch,
    "patch_in_place": _patch_in_place,
    "revert": _revert,
    "launch": _launch,
    "probe": _probe,
    "stop": _stop,
    "runbook": _runbook,
    "sweep": _sweep,
    "resume_sweep": _resume_sweep,
}
"""By the action's id in `keys`."""
