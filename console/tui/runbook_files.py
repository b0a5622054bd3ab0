"""The checklist as a file of this machine: written as it stands, and a file's put in its place."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from console.actions import runbook, runbook_file
from console.errors import UsageError
from console.state.events import ProfileSelected, RunbookLoaded
from console.state.model import LoadedRunbook
from console.tui import translate
from console.tui.operations import walk_request

if TYPE_CHECKING:
    from console.actions.node import Node
    from console.state.model import ConsoleState
    from console.tui.stream import EventStream


async def save(node: Node, state: ConsoleState, path: str) -> str:
    """Write the checklist to a new file; return what is to be said. Raises ConsoleError."""
    plan = await runbook.plan(node, replace(walk_request(state), start=None))
    await asyncio.to_thread(runbook_file.write, Path(path), plan)
    return f"wrote {path}: spec-console runbook {node.name} {path} walks it"


async def load(node: Node, stream: EventStream, path: str) -> str:
    """Put a file's checklist in place of what is there, its profile selected. Raises ConsoleError."""
    form = await asyncio.to_thread(runbook_file.read, Path(path))
    plan = await runbook.plan(node, runbook_file.request_of(form, runbook.RunbookRequest("")))
    if form.profile not in [each.name for each in stream.state.profiles.found]:
        hint = f"spec-console runbook {node.name} {path} walks it."
        raise UsageError(f"{path}: its profile {form.profile!r} is not one of those listed", hint)
    stream.put(ProfileSelected(form.profile))
    file = LoadedRunbook(path, form.sets, form.env, form.allow, form.delivery)
    stream.put(RunbookLoaded(form.profile, translate.steps(plan.steps), file))
    return f"{path} is loaded: {{runbook}} shows its plan"
