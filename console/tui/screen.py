"""What every screen shares: header above, keys below, and being drawn only while it is seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding
from textual.screen import Screen

from console.state.model import ConsoleState
from console.tui.messages import DetailAsked
from console.tui.widgets.bars import ActionLine, HeaderBar, KeyBar
from console.tui.widgets.panes import Panes
from console.tui.widgets.table import Table

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType


class ConsoleScreen(Screen[None]):
    """A screen of the console; `NAME` is its stem in `keys.SCREENS`."""

    NAME: ClassVar[str]
    # Textual's own screens take the key for the next widget.
    BINDINGS: ClassVar[list[BindingType]] = [Binding("tab", "app.invoke('pane')", "Pane", show=False)]

    def __init__(self) -> None:
        super().__init__()
        self._known = ConsoleState()

    def compose(self) -> ComposeResult:
        yield HeaderBar(self.NAME)
        yield from self.body()
        yield ActionLine()
        yield KeyBar(self.NAME)

    def body(self) -> ComposeResult:
        """The screen's own widgets."""
        raise NotImplementedError

    def show(self, state: ConsoleState) -> None:
        """Give the widgets what is known now."""
        raise NotImplementedError

    def on_mount(self) -> None:
        self.watch(self.app, "state", self._take)

    def on_screen_resume(self) -> None:
        self._draw()

    def perform(self, name: str) -> None:
        """Do what a key of this screen names: `pane` here, the others in the screens that have them."""
        if name != "pane":
            return
        panes = self.query(Panes)
        if panes:
            panes.first().next()
        else:
            self.focus_next()

    @on(Table.Opened)
    def _detail(self, message: Table.Opened) -> None:
        message.stop()
        self.post_message(DetailAsked(message.row.key, message.table.full(message.row)))

    def _take(self, state: ConsoleState) -> None:
        self._known = state
        # A screen that nobody sees is drawn when it is seen again.
        if self.is_current:
            self._draw()

    def _draw(self) -> None:
        state = self._known
        with self.app.batch_update():
            self.query_one(HeaderBar).show(state)
            self.query_one(ActionLine).show(state.action)
            self.query_one(KeyBar).show(state)
            self.show(state)
            for panes in self.query(Panes):
                panes.restrip()
