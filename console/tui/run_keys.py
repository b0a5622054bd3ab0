"""What the app does for the Runs screen: changes in the journal, and the way to a run's part of the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.errors import ConsoleError
from console.tui.log_pick import LogPick

if TYPE_CHECKING:
    from console.tui.app import ConsoleApp
    from console.tui.run_changes import RunChange
    from remote_agent.protocol import ServerRun


def change(app: ConsoleApp, wanted: RunChange) -> None:
    """Change what stands on a run; what goes wrong is said."""
    if app.connected is None:
        app.say("the journal is not open yet", "warning")
        return
    try:
        told = app.connected.change_run(wanted)
    except ConsoleError as error:
        app.say(f"{error.message} {error.hint}", "warning")
    else:
        if told:
            app.say(app.table.hint(told))


def open_log(app: ConsoleApp, run_id: str, launch_id: str) -> None:
    """Go to the place in the server's log where a run was measured."""
    server = next((each for each in app.stream.state.servers.runs if each.run_id == launch_id), None)
    if app.connected is None or server is None:
        app.say(f"the node has no record of server {launch_id or 'of this run'}", "warning")
        return
    try:
        begin, end = app.connected.log_range(run_id)
    except ConsoleError as error:
        app.say(f"{error.message}. {error.hint}", "warning")
        return
    show_log(app, server, begin, f"run {run_id}: bytes {begin:,} to {end:,} of the log of {launch_id}")


def show_log(app: ConsoleApp, server: ServerRun, offset: int, told: str, view: str = "lines") -> None:
    """Bring a byte of a server's log to the front, and say what it is."""
    app.open_log(LogPick(server.log_path, server.run_id))
    app.go_to("logs")
    app.say(told)
    app.call_after_refresh(_go_to, app, server.run_id, offset, view)


def _go_to(app: ConsoleApp, run_id: str, offset: int, view: str) -> None:
    from console.tui.screens.logs import LogsScreen

    if isinstance(app.screen, LogsScreen):
        app.screen.go_to(run_id, offset, view)
