"""What is to be said of the selected profile's launch: a running server first, then what a launch would find."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.state.server_phase import server_word
from console.tui.text import tone_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from console.state.model import ConsoleState, LaunchView
    from console.tui.text import Line
    from remote_agent.protocol import ServerRun


def launch_words(state: ConsoleState, hint: Callable[[str], str]) -> Iterator[Line | str]:
    """Yield the lines of the pane; `hint` puts keys into our own words, and into nobody else's."""
    profiles = state.profiles
    running = state.servers.running_of(profiles.selected)
    for run in running:
        yield from _server(run, state, hint)
    current, launch = profiles.current, profiles.launch
    if current and current.problem:
        yield (current.problem, "error")
    elif profiles.problem:
        yield (profiles.problem, "error")
    elif launch is None or (launch.beside and not set(launch.beside) & {run.run_id for run in running}):
        yield ("planning on the node…" if state.link.is_up else f"not connected: {state.link.name}", "dim")
    elif running and not launch.beside:
        yield ("planned before it was launched:", "head")
        yield from _plan(launch, findings=bool(launch.findings))
    else:
        if running:
            yield ("a NEXT launch, beside it, would meet this:", "head")
        yield from _plan(launch)


def _server(run: ServerRun, state: ConsoleState, hint: Callable[[str], str]) -> Iterator[Line | str]:
    word = server_word(state) if run is state.servers.newest_own else run.state
    yield (f"running: server {run.run_id}, port {run.port}, {word}, of {run.operator}", tone_of(word))
    yield (hint("{screen.logs} shows its log, {probe} measures it, {stop} ends it"), "dim")
    yield (run.log_path, "dim")
    yield ""


def _plan(launch: LaunchView, *, findings: bool = True) -> Iterator[Line | str]:
    if findings:
        yield from _findings(launch)
    if launch.wiring:
        yield ""
        yield from launch.wiring
    yield ""
    yield from launch.command


def _findings(launch: LaunchView) -> Iterator[Line | str]:
    if not launch.findings:
        yield ("no finding: nothing stands against this launch", "ok")
    for index, each in enumerate(launch.findings):
        yield (f"{each.severity}: {each.message} [{each.rule}]", tone_of(each.severity))
        # Eight GPUs that are held want one advice.
        if each.hint and each.hint not in (after.hint for after in launch.findings[index + 1 : index + 2]):
            yield (f"  {each.hint}", "dim")
