"""All open nodes at once: how each is reached, its GPUs, its server and how fast that is, who changes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.containers import Vertical

from console.tui.modals.dialog import Dialog
from console.tui.text import content
from console.tui.widgets.node_rows import columns, row_of, said_of
from console.tui.widgets.status import Status
from console.tui.widgets.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult

    from console.state.model import ConsoleState

LOOK_S = 0.5
"""Between two looks at the nodes: none of them but the shown one tells the screen of its changes."""
_KEYS = "↑ ↓ choose, Enter goes there. Esc: stay."


class OverviewModal(Dialog[int]):
    """Answers the place of the node to go to, None to stay. `states` gives each node's newest state, in order."""

    def __init__(self, states: Callable[[], Sequence[ConsoleState]], shown: int) -> None:
        super().__init__("All nodes", ())
        self._states = states
        self._shown = shown

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = content(self._title)
            yield Table("nodes", *columns(), keeps_cursor=True)
            yield Status("nodes-said")

    def on_mount(self) -> None:
        self._look()
        self._table.move_to(str(self._shown))
        self._say()
        self._table.focus()
        self.set_interval(LOOK_S, self._look)

    @property
    def _table(self) -> Table:
        return self.query_one("#nodes", Table)

    def _look(self) -> None:
        self._table.show([row_of(at, state) for at, state in enumerate(self._states())])
        self._say()

    @on(Table.Moved)
    def _say(self) -> None:
        """Below the table: all that the row of the cursor has no room for."""
        current = self._table.current
        lines = said_of(self._states()[int(current.key)]) if current else ()
        said = content(*lines).append("\n").append(content((_KEYS, "dim")))
        self.query_one("#nodes-said", Status).say(said)

    @on(Table.Opened)
    def _opened(self, message: Table.Opened) -> None:
        message.stop()
        self.dismiss(int(message.row.key))
