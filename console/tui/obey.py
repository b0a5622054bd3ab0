"""Does what a command says: its argument is taken in first, as if the user had selected it, then its action follows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.state.events import ProfileSelected, ServerChosen, SweepChosen
from console.tui import themes
from console.tui.commands import TAKES
from console.tui.log_pick import LogPick
from console.tui.messages import CompareAsked
from console.tui.operations import free_chosen
from console.tui.screen import ConsoleScreen

if TYPE_CHECKING:
    from console.tui.app import ConsoleApp
    from console.tui.commands import Said


ON_SCREEN = ("run", "words", "tags", "note", "pattern", "ranks", "time", "file", "runbook", "step", "insert")
"""What an action's screen takes in itself."""


async def obey(app: ConsoleApp, said: Said) -> None:
    """Do it. What changes the node still shows its plan and is confirmed."""
    if said.argument and _is_done_by(app, said):
        return
    screens = app.table[said.action].screens
    if app.current_mode not in screens:
        await app.switch_mode(screens[0])
        app.go_to(screens[0])
    if said.argument and TAKES[said.action] in (*ON_SCREEN, "target"):
        _invoke_with(app, said)
    else:
        app.action_invoke(said.action)


def _invoke_with(app: ConsoleApp, said: Said) -> None:
    """Let the screen do it with what was said, or the node, or say why not."""
    if why := app.table.why_not(said.action, app.stream.state):
        app.say(why, "warning", title=f"{app.table[said.action].title}: not now")
    elif TAKES[said.action] == "target" and app.connected:
        app.connected.start(app.table[said.action], free_chosen(said.argument))
    elif isinstance(app.screen, ConsoleScreen):
        app.screen.perform_with(said.action, said.argument)


def _is_done_by(app: ConsoleApp, said: Said) -> bool:
    """Take in what stands behind the action; True where that was all there was to do."""
    kind = TAKES[said.action]
    if kind == "profile":
        app.happened(ProfileSelected(said.argument))
    elif kind == "server":
        app.happened(ServerChosen(said.argument))
    elif said.action in ("runs.baseline", "runs.candidate"):
        _compare(app, said)
        return True
    elif kind == "sweep":
        app.happened(SweepChosen(said.argument))
    elif kind == "log":
        app.go_to("logs")
        app.open_log(LogPick(said.argument))
    elif kind == "node":
        app.nodes.look_at([tab.name for tab in app.stream.state.nodes.tabs].index(said.argument))
    elif kind == "theme":
        app.theme = themes.textual_theme(said.argument)
    # An action looks at the state at once.
    app.stream.flush()
    return kind in ("log", "node", "theme") or said.action == "select"


def _compare(app: ConsoleApp, said: Said) -> None:
    runs = app.stream.state.runs
    sides = {
        "runs.baseline": runs.baseline.run_id if runs.baseline else None,
        "runs.candidate": runs.candidate.run_id if runs.candidate else None,
        said.action: said.argument,
    }
    app.post_message(CompareAsked(sides["runs.baseline"], sides["runs.candidate"]))
