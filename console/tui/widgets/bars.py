"""The lines around every screen: where one is and how it stands above, what can be done below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.tui.keys import SCREENS, on_screen
from console.tui.text import content, tone_of
from console.tui.widgets.status import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.state.model import ActionState, ConsoleState, LinkState
    from console.tui.keys import Group, Key
    from console.tui.text import Line, Tone
    from remote_agent.protocol import LedgerEntry

_LINK_TONES: dict[str, Tone] = {
    "connecting": "accent",
    "connected": "ok",
    "heartbeat-missed": "warn",
    "reconnecting": "warn",
    "disconnected": "error",
}
_REST: tuple[Group, ...] = ("console", "look")
"""What must be found on a narrow screen comes first."""
_PHASE_TONES: dict[str, Tone] = {
    "planning": "accent",
    "running": "accent",
    "done": "ok",
    "failed": "error",
    "cancelled": "warn",
}


class HeaderBar(Status):
    """Two lines: node, SIMULATED, link and operator; the screens, and the server."""

    def __init__(self, screen_name: str) -> None:
        super().__init__("header")
        self._screen_name = screen_name

    def show(self, state: ConsoleState) -> None:
        top = content(*_node(state), "  ", *_link(state.link), "  ", (state.node.operator, "dim"))
        below = content(*self._screens(), "  ", *_server(state))
        self.say(top.append("\n").append(below))

    def _screens(self) -> Iterator[Line | str]:
        for number, name in enumerate(SCREENS, 1):
            current = name == self._screen_name
            yield (
                f"[{number} {name.capitalize()}]" if current else f" {number} {name.capitalize()} ",
                "head" if current else "dim",
            )


class KeyBar(Status):
    """Two lines: the capitals that change the node, dimmed when they cannot; and the rest of the screen's keys."""

    def __init__(self, screen_name: str) -> None:
        super().__init__("keys")
        self._screen_name = screen_name

    def show(self, state: ConsoleState) -> None:
        keys = on_screen(self._screen_name)
        change = [each for each in keys if each.group == "change"]
        rest = [
            each for group in ("console", "look") for each in keys if each.group == group and not each.why_not(state)
        ]
        parts: list[Line | str] = []
        for each in change:
            can = not each.why_not(state)
            parts += [
                (each.label, "accent" if can else "dim"),
                (f" {each.short or each.title}  ", "" if can else "dim"),
            ]
        top = content(*parts)
        below = content(
            *(part for each in rest for part in ((each.label, "accent"), (f" {each.short or each.title}  ", "dim")))
        )
        self.say(top.append("\n").append(below))


class ActionLine(Status):
    """One line: the action that runs or ran last, and what it said or proved."""

    def __init__(self) -> None:
        super().__init__("action")

    def show(self, action: ActionState) -> None:
        if action.phase == "idle":
            self.say(content(("nothing is running", "dim")))
            return
        said = action.outcome or (action.lines[-1] if action.lines else "")
        self.say(content((f"{action.title}: {action.phase}", _PHASE_TONES[action.phase]), "  ", said))


def _order(key: Key) -> int:
    return _REST.index(key.group)


def _changing(key: Key, *, can: bool) -> tuple[Line, Line]:
    return (key.label, "accent" if can else "dim"), (f" {key.name}  ", "" if can else "dim")


def _node(state: ConsoleState) -> Iterator[Line | str]:
    yield (state.node.name or "…", "head")
    if state.node.simulated:
        yield (" SIMULATED", "warn")
    if state.node.ledger:
        yield from _dirty(state.node.ledger)
    if state.node.facts:
        yield (f" {state.node.facts.hostname}", "dim")
    if state.gpus.sample:
        yield (f" gpus by {state.gpus.sample.source}", "dim")


def _dirty(ledger: tuple[LedgerEntry, ...]) -> Iterator[Line]:
    if any(entry.is_cut_short for entry in ledger):
        yield (" HALF PATCHED", "error")
    else:
        yield (f" PATCHED {' '.join(dict.fromkeys(name for entry in ledger for name in entry.patches))}", "warn")


def _link(link: LinkState) -> Iterator[Line | str]:
    reason = f" ({link.reason})" if link.reason else ""
    yield (f"{link.name}{reason}", _LINK_TONES.get(link.name, "warn"))


def _server(state: ConsoleState) -> Iterator[Line | str]:
    run = state.servers.newest_own
    if run is None or run not in state.servers.running:
        yield ("no server", "dim")
        return
    word = server_word(state)
    yield (f":{run.port} {word}", tone_of(word))
    profile = (run.record.get("profile") or {}).get("name", "")
    if profile:
        yield (f" {profile}", "dim")


def server_word(state: ConsoleState) -> str:
    """How the newest server of this operator stands: its launch phase where its log is followed, else its state."""
    run = state.servers.newest_own
    if run is None:
        return "none"
    phase = state.log.reading.phase.name if state.log.reading and state.log.run_id == run.run_id else ""
    return phase if phase and run.state in ("running", "starting") else run.state
