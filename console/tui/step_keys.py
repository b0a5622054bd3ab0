"""What the app does for a step of the runbook: to the screen that shows what it did, and to its part of the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.errors import ConsoleError
from console.tui import run_keys
from console.tui.messages import CompareAsked
from console.tui.runbook_edit import begun_at, inserted, toggled

if TYPE_CHECKING:
    from console.state.model import Step
    from console.tui.app import ConsoleApp

_EDITS = {"runbook.skip": toggled, "runbook.begin": begun_at, "runbook.insert": inserted}
_SCREENS = {
    **dict.fromkeys(("free", "stop"), "node"),
    **dict.fromkeys(("patch", "revert"), "patches"),
    **dict.fromkeys(("launch", "shapes"), "logs"),
    **dict.fromkeys(("baseline", "probe", "compare"), "probe"),
}
"""The screen for each kind of step."""


def do(app: ConsoleApp, name: str, argument: str) -> None:
    """Do what an action of the steps says with a step, or with what was typed; what is wrong with it is said."""
    try:
        if name in _EDITS:
            app.happened(_EDITS[name](app.stream.state, argument))
        elif name in ("runbook.save", "runbook.load"):
            app.run_worker(_keep(app, name, argument), group="save", exclusive=True)
        else:
            step = next((each for each in app.stream.state.steps if each.id == argument), None)
            if step:
                (open_log if name == "runbook.log" else open_step)(app, step)
    except ConsoleError as error:
        app.say(f"{error.message}. {error.hint}", "warning")


async def _keep(app: ConsoleApp, name: str, path: str) -> None:
    """Write the checklist to a file, or put a file's in its place."""
    if app.connected is None:
        return
    work = app.connected.save_runbook if name == "runbook.save" else app.connected.load_runbook
    try:
        app.say(app.table.hint(await work(path)))
    except ConsoleError as error:
        app.say(f"{error.message}. {error.hint}", "warning")


def open_step(app: ConsoleApp, step: Step) -> None:
    """Go to what a step did: the diff, the log, the shapes, or the run beside the one that it is compared with."""
    if step.kind in ("launch", "shapes") and step.made:
        _to_server(app, step, view="shapes" if step.kind == "shapes" else "lines")
        return
    if step.kind in ("baseline", "probe", "compare") and step.made:
        runs = app.stream.state.runs
        baseline = step.made if step.kind == "baseline" else runs.baseline.run_id if runs.baseline else None
        candidate = (runs.candidate.run_id if runs.candidate else None) if step.kind == "baseline" else step.made
        app.post_message(CompareAsked(baseline, candidate))
    app.go_to(_SCREENS[step.kind])


def open_log(app: ConsoleApp, step: Step) -> None:
    """Go to the part of the server's log that a step was about."""
    if step.kind in ("launch", "shapes") and step.made:
        _to_server(app, step, view="lines")
        return
    run = next((each for each in app.stream.state.runs.runs if each.run_id == step.made), None) if step.made else None
    if run is None:
        told = "has no part of a log" if step.state == "done" else "has done nothing yet"
        app.say(f"step {step.id} {told}")
    else:
        run_keys.open_log(app, run.run_id, run.launch_id)


def _to_server(app: ConsoleApp, step: Step, *, view: str) -> None:
    server = next((each for each in app.stream.state.servers.runs if each.run_id == step.made), None)
    if server is None:
        app.say(f"the node has no record of server {step.made}", "warning")
        return
    told = f"step {step.id}: server {server.run_id}, from byte {server.log_offset:,} of its log"
    run_keys.show_log(app, server, server.log_offset, told, view)
