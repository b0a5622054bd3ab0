"""Why an action is not to be had in a state: pure functions, "" when it is. `{id}` in them is a key of the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console.state.model import ConsoleState


def always(_state: ConsoleState) -> str:
    """Nothing stands against it."""
    return ""


def no_change(state: ConsoleState) -> str:
    """What stands against every change of the node."""
    if state.replay.source:
        return f"a replay of {state.replay.source}: there is no node"
    # Before the link: what is forbidden stays so when there is one again.
    if why := state.node.why_readonly:
        return f"read-only: {why}"
    if not state.link.is_up:
        reason = f" ({state.link.reason})" if state.link.reason else ""
        return f"not connected: {state.link.name}{reason}"
    return busy(state)


def busy(state: ConsoleState) -> str:
    """An action is under way."""
    words = {"planning": "is being planned", "planned": "waits for your answer to its plan", "running": "is running"}
    return f"{state.action.title} {words[state.action.phase]}" if state.action.is_busy else ""


def one_node(state: ConsoleState) -> str:
    return "" if len(state.nodes.tabs) > 1 else "one node is open: `connect NODE NODE` opens several"


def no_profile(state: ConsoleState) -> str:
    if why := no_change(state):
        return why
    current = state.profiles.current
    if current is None:
        return "no profile is selected ({screen.launch} lists them)"
    return f"profile {current.name} cannot be used: {current.problem}" if current.problem else ""


def no_stop(state: ConsoleState) -> str:
    if why := no_change(state):
        return why
    meant = state.servers.meant
    if meant is None:
        return _which_server(state)
    if meant.operator != state.node.operator:
        return f"server {meant.run_id} belongs to {meant.operator}"
    return ""


def no_probe(state: ConsoleState) -> str:
    if why := no_change(state):
        return why
    return "" if state.servers.meant else _which_server(state)


def no_revert(state: ConsoleState) -> str:
    if why := no_change(state):
        return why
    is_there = state.patches.ledger or state.patches.overlay
    return "" if is_there else "nothing is applied by this account on this node"


def no_resume(state: ConsoleState) -> str:
    if why := no_change(state):
        return why
    shown = state.sweep.shown
    if shown is None:
        return "no sweep of this node is stored"
    return f"sweep {shown.sweep_id} is finished" if shown.is_finished else ""


def no_cancel(state: ConsoleState) -> str:
    return "" if state.action.is_busy else "nothing is running"


def no_clear(state: ConsoleState) -> str:
    if state.action.is_busy:
        return f"{state.action.title} is running"
    return no_steps(state)


def no_steps(state: ConsoleState) -> str:
    return "" if state.runbook.steps else "there is no checklist"


def walked(state: ConsoleState) -> str:
    """The checklist is not the user's to change."""
    if state.replay.source:
        return f"a replay of {state.replay.source}: nothing is walked"
    return "the runbook is walked just now" if state.runbook.is_walking else ""


def no_edit(state: ConsoleState) -> str:
    """The checklist cannot be changed, or kept as a file."""
    book = state.runbook
    if why := walked(state):
        return why
    if not state.steps:
        return "no profile is selected ({screen.launch} lists them), or it cannot be used"
    other = book.steps and book.profile != state.profiles.selected
    return f"the checklist is of {book.profile}: {{clear}} puts it away" if other else ""


def no_save(state: ConsoleState) -> str:
    """A file is written of a plan, and that is made with what the node tells."""
    return no_edit(state) or no_plan(state)


def no_load(state: ConsoleState) -> str:
    """What a file says is planned at once."""
    return walked(state) or no_plan(state)


def no_plan(state: ConsoleState) -> str:
    """The node is not there to tell what a plan needs."""
    return "" if state.link.is_up else f"not connected: {state.link.name}"


def no_lock(state: ConsoleState) -> str:
    """The connection is made anew for it: an action would be cut."""
    return "it is read-only already" if state.node.why_readonly else busy(state)


def no_unlock(state: ConsoleState) -> str:
    if state.node.readonly:
        return busy(state)
    if why := state.node.why_readonly:
        return f"the agent itself is read-only: {why}"
    return "it is not read-only"


def no_journal(state: ConsoleState) -> str:
    """The journal of this machine is not to be had."""
    return f"a replay of {state.replay.source}: the journal is not part of it" if state.replay.source else ""


def no_run(state: ConsoleState) -> str:
    if why := no_journal(state):
        return why
    return "" if state.runs.runs else "no run is stored"


def _which_server(state: ConsoleState) -> str:
    if not state.servers.running:
        return "no server is running"
    return "which server? put the cursor on one (screen {screen.node})"
