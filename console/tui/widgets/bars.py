"""The lines around every screen: where one is and how it stands above, what can be done below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

from console.state.server_phase import server_word
from console.tui.keys import SCREENS
from console.tui.text import content, tone_of
from console.tui.widgets.status import Status
from console.units import format_age, format_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from textual.events import Click

    from console.state.model import ActionState, ConsoleState, LinkState
    from console.tui.keys import Group, KeyTable
    from console.tui.text import Line, Tone
    from remote_agent.protocol import LedgerEntry

Part = tuple["Line | str", str]
"""Text with its tone, and the action that it stands for; "" for none."""

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
    "planned": "warn",
    "running": "accent",
    "done": "ok",
    "failed": "error",
    "unknown": "warn",
    "cancelled": "warn",
}


class ActionBar(Status):
    """Lines of which parts stand for actions: a click on one is as good as its key."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._spots: list[tuple[int, int, int, str]] = []
        """Row, first cell, cell after the last, action."""
        self._laid: tuple[tuple[Part, ...], ...] = ()

    def lay(self, *rows: Iterable[Part]) -> None:
        """Show lines, each made of parts with the action that they stand for, if any."""
        laid = tuple(map(tuple, rows))
        if laid == self._laid:  # twenty states a second rarely change them
            return
        self._laid = laid
        self._spots, lines = [], []
        for y, row in enumerate(laid):
            x, line = 0, []
            for part, action in row:
                line.append(content(part))
                end = x + line[-1].cell_length
                if action:
                    self._spots.append((y, x, end, action))
                x = end
            lines.append(Content("").join(line))
        self.say(Content("\n").join(lines))

    async def on_click(self, event: Click) -> None:
        at = event.get_content_offset(self)
        for y, first, end, action in self._spots if at else ():
            if at and at.y == y and first <= at.x < end:
                await self.run_action(f"app.invoke('{action}')")


class HeaderBar(ActionBar):
    """Two lines: node, SIMULATED, link and operator; the screens, and the server."""

    def __init__(self, screen_name: str, table: KeyTable) -> None:
        super().__init__("header")
        self._screen_name = screen_name
        self._table = table

    def show(self, state: ConsoleState) -> None:
        top = (*_node(state), "  ", *_link(state.link), "  ", (state.node.operator, "dim"))
        below = ("  ", *_server(state))
        self.lay(((part, "") for part in top), (*self._screens(), *((part, "") for part in below)))

    def _screens(self) -> Iterator[Part]:
        for name in SCREENS:
            key = self._table[f"screen.{name}"]
            told = f"{key.label} {key.title}" if key.key else key.title
            shown: Line = (f"[{told}]", "head") if name == self._screen_name else (f" {told} ", "dim")
            yield shown, key.id


class KeyBar(ActionBar):
    """Two lines: the capitals that change the node, bold when they can, else dimmed; and the screen's other keys."""

    def __init__(self, screen_name: str, table: KeyTable) -> None:
        super().__init__("keys")
        self._keys = [each for each in table.on_screen(screen_name) if each.key]

    def show(self, state: ConsoleState) -> None:
        self.lay(self._changing(state), self._rest(state))

    def _changing(self, state: ConsoleState) -> Iterator[Part]:
        for each in (key for key in self._keys if key.group == "change"):
            can = not each.why_not(state)
            yield (each.label, "key" if can else "dim"), each.id
            yield (f" {each.name}  ", "" if can else "dim"), each.id

    def _rest(self, state: ConsoleState) -> Iterator[Part]:
        for group in _REST:
            for each in self._keys:
                if each.group == group and not each.why_not(state):
                    yield (each.label, "key"), each.id
                    yield (f" {each.name}  ", "dim"), each.id


class ActionLine(Status):
    """One line: the action that runs or ran last, and what it said or proved."""

    def __init__(self) -> None:
        super().__init__("action")

    def show(self, action: ActionState) -> None:
        if action.phase == "idle":
            self.say(content(("nothing is running", "dim")))
            return
        said = action.outcome or (action.lines[-1] if action.lines else "")
        phase = "waits for your answer to its plan" if action.phase == "planned" else action.phase
        self.say(content((f"{action.title}: {phase}", _PHASE_TONES[action.phase]), "  ", said))


def _node(state: ConsoleState) -> Iterator[Line | str]:
    yield (state.node.name or "…", "head")
    if state.replay.source:
        yield (f" REPLAY {format_seconds(round(state.replay.at_s))}{' ended' if state.replay.ended else ''}", "warn")
    if state.node.simulated:
        yield (" SIMULATED", "warn")
    if state.node.why_readonly:
        yield (" READ-ONLY", "warn")
    if state.node.ledger:
        yield from _dirty(state.node.ledger)
    if state.node.locked_by:
        yield (f" LOCKED by {state.node.locked_by}", "warn")
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
    if link.age_s:
        yield (f" as of {format_age(link.age_s)} ago", "warn")


def _server(state: ConsoleState) -> Iterator[Line | str]:
    run = state.servers.newest_own
    if run is None or run not in state.servers.running:
        yield ("no server" if state.node.facts else "nothing read yet", "dim")
        return
    word = server_word(state)
    yield (f":{run.port} {word}", tone_of(word))
    profile = (run.record.get("profile") or {}).get("name", "")
    if profile:
        yield (f" {profile}", "dim")
