"""One open node as a row of the overview, and in words below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.state.nodes_state import tab_of
from console.state.server_phase import server_word
from console.tui.text import tone_of
from console.tui.widgets.table import Column, Row
from console.units import NONE, format_age, format_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.state.model import ConsoleState
    from console.state.nodes_state import NodeTab
    from console.tui.text import Line
    from remote_agent.protocol import ServerRun


def columns() -> tuple[Column, ...]:
    """Return the overview's columns."""
    return (
        Column("node"),
        Column("link"),
        Column("free", right=True),
        Column("server"),
        Column("accept", right=True),
        Column("tok/s", right=True),
        Column("besides", flex=True),
    )


def row_of(at: int, state: ConsoleState) -> Row:
    """Return the row of the node at this place."""
    tab = tab_of(state)
    speed, length = _newest(state, "gen_throughput"), _newest(state, "accept_len")
    link: Line = (tab.link, "ok" if tab.link == "connected" else "warn")
    numbers = (format_number(length), format_number(speed, 1))
    return Row(str(at), (tab.name, link, _free(tab), _server(state), *numbers, _besides(tab, state)))


def said_of(state: ConsoleState) -> Iterator[Line | str]:
    """Yield what a row has no room for."""
    link, facts, run = state.link, state.node.facts, _running(state)
    reason = f" ({link.reason})" if link.reason else ""
    age = f", as of {format_age(link.age_s)} ago" if link.age_s else ""
    yield f"{state.node.name}: {link.name}{reason}{age}"
    if facts and facts.lock_holder:
        yield (f"; lock held by {facts.lock_holder}", "warn")
    if run:
        profile = (run.record.get("profile") or {}).get("name", "")
        yield f"; server {run.run_id} {profile}".rstrip()
    if why := state.node.why_readonly:
        yield (f"; read-only: {why}", "warn")


def _running(state: ConsoleState) -> ServerRun | None:
    run = state.servers.newest_own
    return run if run in state.servers.running else None


def _free(tab: NodeTab) -> Line:
    if tab.free is None:
        return (NONE, "dim")
    return (f"{tab.free}/{tab.gpus}" if tab.gpus else "no GPUs", "ok" if tab.free else "warn")


def _server(state: ConsoleState) -> Line:
    run = _running(state)
    if run is None:
        theirs = len(state.servers.running)
        return (f"{theirs} of others" if theirs else NONE, "dim")
    word = server_word(state)
    return (f":{run.port} {word}", tone_of(word))


def _newest(state: ConsoleState, name: str) -> float | None:
    """The newest number of a series of the running server's log, where that is followed."""
    run, reading = _running(state), state.log.reading
    points = reading.series.get(name) if run and reading and state.log.run_id == run.run_id else None
    return points[-1].value if points else None


def _besides(tab: NodeTab, state: ConsoleState) -> Line:
    facts = state.node.facts
    lock = f"lock: {facts.lock_holder}" if facts and facts.lock_holder else ""
    told = "; ".join(filter(None, (lock, *tab.alarms, tab.busy)))
    return (told, "error" if tab.alarms else "warn" if lock else "accent")
