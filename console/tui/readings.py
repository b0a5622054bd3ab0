"""One-off readings of a node and of this machine, each told as an event; a failed one is told too, and never raised."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from console.actions import apply_overlay, apply_patch, launch_server
from console.actions.patch_state import PatchRequest
from console.errors import ConsoleError
from console.state.events import (
    InventoryRead,
    LaunchPlanFailed,
    LaunchPlanned,
    ProfilesListed,
    RunsCompared,
    RunsRead,
    RunsReadFailed,
    TreeRead,
    TreeReadFailed,
)
from console.tui import translate

if TYPE_CHECKING:
    from console.actions.node import Node
    from console.state.model import ProfilesState
    from console.tui.stream import EventStream


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
        stream.put(LaunchPlanned(translate.launch_view(profile, plan)))


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
    try:
        stored = node.journal.list_runs(node.name)
    except ConsoleError as error:
        stream.put(RunsReadFailed(told(error)))
        return
    stream.put(RunsRead(tuple(map(translate.run_view, stored))))
    a, b = translate.pair(stored, profiles.found, baseline, candidate)
    varies = next((each.varies for each in profiles.found if b and each.name == b.profile), ())
    stream.put(
        RunsCompared(
            translate.run_view(a) if a else None,
            translate.run_view(b) if b else None,
            translate.comparison_view(a, b, varies) if a and b else None,
        )
    )


def told(error: ConsoleError) -> str:
    """An error on one line: what failed, and what to do next."""
    return f"{error.message} {error.hint}".strip()
