"""One-off readings of a node and of this machine, each told as an event; a failed one is told too, and never raised."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING

from console import yaml_file
from console.actions import apply_overlay, apply_patch, launch_server
from console.actions.patch_state import PatchRequest
from console.errors import ConsoleError, UsageError
from console.probe.golden import golden_of
from console.state.events import (
    InventoryRead,
    LaunchPlanFailed,
    LaunchPlanned,
    Noticed,
    ProfilesListed,
    RunsCompared,
    RunsRead,
    RunsReadFailed,
    SweepsRead,
    TreeRead,
    TreeReadFailed,
)
from console.tui import translate, translate_runs, translate_sweep

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.actions.node import Node
    from console.probe.golden import Golden
    from console.probe.stored import StoredRun
    from console.state.model import ProfilesState
    from console.state.runs_state import ComparisonView
    from console.state.sweep_state import SweepView
    from console.store.labels import RunLabels
    from console.tui.stream import EventStream

SWEEPS = 10
"""Stored sweeps that are shown: each is judged anew when it is read."""


async def inventory(node: Node, stream: EventStream) -> None:
    """Read facts, GPUs, holders and servers. Raises ConsoleError: who reads on and on decides what to do then."""
    found = await node.inventory()
    stream.put(
        InventoryRead(
            found.facts,
            found.sample,
            found.holders,
            found.runs,
            found.unreadable_pids,
            found.reason,
            found.ledger,
            found.cpu_s,
        )
    )


async def profiles(node: Node, stream: EventStream) -> None:
    """Read every profile file. The first that asks for patches is preferred: it is the one that shows the shapes."""
    found = []
    for name, path in node.library.names().items():
        found.append(translate.profile_view(name, str(path), node.library))
        await asyncio.sleep(0)  # YAML is slow to read, and the screen is alive meanwhile
    preferred = next((each.name for each in found if each.patches), "")
    stream.put(ProfilesListed(tuple(found), preferred))


async def for_screen(node: Node, stream: EventStream, screen: str, after_s: float) -> None:
    """Read what only some screens show. `after_s` lets a cursor that runs over profiles come to rest first."""
    await asyncio.sleep(after_s)
    stream.flush()
    profile = stream.state.profiles.selected
    if not stream.state.link.is_up:
        return
    if screen == "launch" and profile:
        await launch(node, stream, profile)
    elif screen == "patches":
        await tree(node, stream, profile)


async def launch(node: Node, stream: EventStream, profile: str) -> None:
    """Plan a profile's launch: its findings and its exact command."""
    try:
        plan = await launch_server.plan(node, profile)
    except ConsoleError as error:
        stream.put(LaunchPlanFailed(profile, told(error)))
    else:
        beside = tuple(run.run_id for run in stream.state.servers.running_of(profile))
        stream.put(LaunchPlanned(translate.launch_view(profile, plan, beside)))


async def tree(node: Node, stream: EventStream, profile: str) -> None:
    """Read the installed tree and plan the profile's patches against it (every patch there is, if it wants none)."""
    try:
        plan = await apply_patch.plan(node, PatchRequest(profile=profile or None))
        overlay = await apply_overlay.serving(node, plan.tree.root, plan.tree.plans)
    except ConsoleError as error:
        stream.put(TreeReadFailed(told(error)))
    else:
        read = plan.tree
        files = translate.patch_files(plan, overlay)
        name = overlay.name if overlay else ""
        stream.put(TreeRead(read.root, read.version or "", profile, files, read.ledger, name))


def runs(
    node: Node, stream: EventStream, profiles: ProfilesState, baseline: str | None = None, candidate: str | None = None
) -> None:
    """Read the journal, and put two runs side by side: those named, or those that belong together."""
    if warning := node.journal.told_once():
        stream.put(Noticed("warn", warning))
    try:
        stored, labels, pins = _read(node)
        swept = sweeps(node, profiles, stored)
    except ConsoleError as error:
        stream.put(RunsReadFailed(told(error)))
        return
    views = {run.run_id: translate_runs.run_view(run, labels.get(run.run_id)) for run in stored}
    stream.put(RunsRead(tuple(views.values())))
    stream.put(SweepsRead(swept))
    a, b = translate_runs.pair(stored, profiles.found, baseline, candidate, pins)
    stream.put(
        RunsCompared(
            views[a.run_id] if a else None,
            views[b.run_id] if b else None,
            _compared(node, stream, a, b, _declared(profiles, b.profile)) if a and b else None,
        )
    )


def _read(node: Node) -> tuple[tuple[StoredRun, ...], dict[str, RunLabels], tuple[str, ...]]:
    """The newest runs and every pinned one, newest first; their labels; the pins. Raises ConsoleError."""
    journal, pins = node.journal, node.journal.pins(node.name)
    stored = journal.list_runs(node.name)
    known = {run.run_id for run in stored}
    older = [journal.get_run(each) for each in pins if each not in known]
    every = sorted((*stored, *older), key=lambda run: run.at, reverse=True) if older else stored
    return tuple(every), journal.labels(node.name), pins


def sweeps(node: Node, profiles: ProfilesState, runs: Sequence[StoredRun]) -> tuple[SweepView, ...]:
    """The newest sweeps of the journal; `runs` are those that were read of it already. Raises UsageError."""
    known = {run.run_id: run for run in runs}

    def run_of(run_id: str) -> StoredRun | None:
        with contextlib.suppress(UsageError):  # a run that is gone
            return known.get(run_id) or node.journal.get_run(run_id)
        return None

    stored = node.journal.list_sweeps(node.name, SWEEPS)
    return tuple(translate_sweep.stored_view(each, run_of, _declared(profiles, each.profile)) for each in stored)


def _compared(node: Node, stream: EventStream, a: StoredRun, b: StoredRun, varies: Sequence[str]) -> ComparisonView:
    golden = None
    try:
        golden = _golden(node, b.profile)
    except UsageError as error:
        stream.put(Noticed("warn", told(error)))
    found = translate_runs.comparison_view(a, b, varies, golden)
    told_of = {"verdict": found.verdict, "why": found.why, "difference": found.difference}
    try:
        node.journal.add_verdict(time.time(), a, b, varies, told_of)
    except ConsoleError as error:
        stream.put(Noticed("warn", told(error)))
    return found


def _golden(node: Node, profile: str) -> Golden | None:
    """The known curve of a profile: `golden/PROFILE.yaml` beside the profiles. Raises UsageError."""
    if not profile or "/" in profile:
        return None
    paths = (folder / "golden" / f"{profile}.yaml" for folder in node.library.folders)
    path = next((path for path in paths if path.is_file()), None)
    return golden_of(yaml_file.load_file(path)) if path else None


def _declared(profiles: ProfilesState, profile: str) -> tuple[str, ...]:
    return next((each.varies for each in profiles.found if each.name == profile), ())


def told(error: ConsoleError) -> str:
    """An error on one line: what failed, and what to do next."""
    return f"{error.message} {error.hint}".strip()
