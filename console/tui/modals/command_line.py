"""The command line: one line below the screen, with completion and what was entered before."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from console.errors import ConsoleError
from console.tui.commands import MAX_LINE, Said, about, complete, extended, parse
from console.tui.local_files import local_files
from console.tui.text import content
from console.tui.widgets.status import Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.events import Key

    from console.state.model import ConsoleState
    from console.tui.command_history import CommandHistory
    from console.tui.keys import KeyTable

PROMPT = "a command: Tab completes, ↑ ↓ earlier ones, Enter does it, Esc leaves"


class CommandLine(ModalScreen[Said]):
    """Answers the command that was given, None when none was. `state` tells what is known now."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape", "close", "Close"),
        ("tab", "complete", "Complete"),
        ("up", "recall(-1)", "Earlier"),
        ("down", "recall(1)", "Later"),
    ]

    def __init__(
        self, table: KeyTable, state: Callable[[], ConsoleState], history: CommandHistory, begun: str = ""
    ) -> None:
        super().__init__()
        self._begun = begun
        self._table = table
        self._state = state
        self._history = history
        self._at = 0
        """Which earlier line is shown, from the end; 0 is the new one."""
        self._written = ""
        """The new line, while an earlier one is shown."""
        self._turn: tuple[str, ...] = ()
        """What Tab goes round through, while nothing else is typed."""
        self._shown = ""
        self._has_begun = False

    def compose(self) -> ComposeResult:
        with Vertical(id="command-line"):
            yield Status("command-said")
            with Horizontal():
                yield Static(":", id="colon")
                yield Input(placeholder=PROMPT, max_length=MAX_LINE, compact=True, id="command", select_on_focus=False)

    def on_mount(self) -> None:
        self._history.read()
        self._field.focus()
        self._put(self._begun)
        self._say()
        # Behind every key that came before there was a field.
        self.call_later(self._begin)

    def _begin(self) -> None:
        self._has_begun = True

    def on_key(self, event: Key) -> None:
        """What was typed right behind the colon, before there was a field for it, belongs into that."""
        if self._has_begun:
            return
        if event.is_printable and event.character:
            event.stop()
            self._put(self._field.value + event.character)
        elif event.key == "enter":
            event.stop()
            self._give(self._field.value)

    @property
    def _field(self) -> Input:
        return self.query_one(Input)

    def action_close(self) -> None:
        self.dismiss(None)

    def action_complete(self) -> None:
        """As far as it is certain; then each that it may be, in turn."""
        line = self._field.value
        if self._turn and line == self._shown:
            at = (self._turn.index(line) + 1) % len(self._turn) if line in self._turn else 0
            self._put(self._turn[at])
            return
        found = complete(line, self._table, self._state(), local_files)
        self._turn = found if len(found) > 1 else ()
        self._put(extended(line, found) if found else line)

    def action_recall(self, step: int) -> None:
        lines = self._history.lines
        at = max(-len(lines), min(0, self._at + step))
        if at == self._at:
            return
        if self._at == 0:
            self._written = self._field.value
        self._at = at
        self._put(lines[at] if at else self._written)

    def _put(self, line: str) -> None:
        self._shown = line
        self._field.value = line
        self._field.cursor_position = len(line)

    @on(Input.Changed)
    def _say(self) -> None:
        """Above the line: what it may become, and what the word that stands there does."""
        line = self._field.value
        if line != self._shown:
            self._turn, self._shown = (), ""
        state = self._state()
        told = about(line, self._table, state)
        found = self._turn if line in self._turn[1:] else complete(line, self._table, state, local_files)
        may = "  ".join(each.rpartition(" ")[2] if " " in line.lstrip() else each for each in found)
        self._status.say(content((may or "nothing known begins so", "dim")).append("\n").append(content(told)))

    @property
    def _status(self) -> Status:
        return self.query_one("#command-said", Status)

    @on(Input.Submitted)
    def _given(self, message: Input.Submitted) -> None:
        message.stop()
        self._give(message.value)

    def _give(self, line: str) -> None:
        if not line.strip():
            self.dismiss(None)
            return
        try:
            said = parse(line, self._table, self._state())
        except ConsoleError as error:
            self._status.say(content((error.message, "error")).append("\n").append(content((error.hint, "dim"))))
            return
        self._history.add(line)
        self.dismiss(said)
