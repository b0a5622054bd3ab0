"""What every screen shares: header above, keys below, and being drawn only while it is seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding
from textual.screen import Screen

from console.state.model import ConsoleState
from console.tui.keys import table_of
from console.tui.messages import DetailAsked
from console.tui.painting import FrontCompositor
from console.tui.text import as_line
from console.tui.widgets.bars import ActionLine, HeaderBar, KeyBar
from console.tui.widgets.panes import Panes
from console.tui.widgets.table import Table
from console.tui.widgets.tabs import TabBar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from textual.app import ComposeResult
    from textual.events import ScreenResume

    from console.tui.keys import KeyTable
    from console.tui.text import Line


class ConsoleScreen(Screen[None]):
    """A screen of the console; `NAME` is its stem in `keys.SCREENS`."""

    NAME: ClassVar[str]

    def __init__(self) -> None:
        super().__init__()
        self._known = ConsoleState()
        self._compositor = FrontCompositor()
        # Made from the sheet as it stands: Textual would read all of it anew, twice, for a screen that is new.
        self._css_update_count = self.app._css_update_count
        # Textual does this once it is laid out, and looks every widget's rules up again.
        fitting = self._get_breakpoint_classes(self.app.size.width, self.app.HORIZONTAL_BREAKPOINTS or [])
        self.update_classes(dict.fromkeys(fitting, True), update=False)
        for key in self.table["pane"].keys:
            # In place of Textual's own: its screens take tab for the next widget.
            self._bindings.key_to_bindings[key] = [Binding(key, "app.invoke('pane')", "Pane", show=False)]

    @property
    def table(self) -> KeyTable:
        """The user's keys."""
        return table_of(self.app)

    def compose(self) -> ComposeResult:
        yield TabBar()
        yield HeaderBar(self.NAME, self.table)
        yield from self.body()
        yield ActionLine()
        yield KeyBar(self.NAME, self.table)

    def body(self) -> ComposeResult:
        """The screen's own widgets."""
        raise NotImplementedError

    def show(self, state: ConsoleState) -> None:
        """Give the widgets what is known now."""
        raise NotImplementedError

    def hinted(self, lines: Iterable[Line | str]) -> Iterator[Line]:
        """Put the user's keys where lines name an action in braces."""
        for told, tone in map(as_line, lines):
            yield self.table.hint(told), tone

    def on_mount(self) -> None:
        self.watch(self.app, "state", self._take)

    def on_screen_resume(self, event: ScreenResume) -> None:
        # Looks that changed meanwhile are brought by the app; looking every rule up again is half of a switch.
        event.refresh_styles = False
        self._draw()

    def draw_ahead(self) -> None:
        """Draw what nobody sees yet: looks, layout and strips are kept, and a first look has them."""
        if self.is_attached and not self.is_current:
            self._draw()
            self._refresh_layout(self.app.size)
            self._compositor.render_strips()

    def _compositor_refresh(self) -> None:
        if not self.app._batch_count:  # else Textual renders a whole frame and drops it
            super()._compositor_refresh()

    def perform(self, name: str) -> None:
        """Do what a key of this screen names: `pane` here, the others in the screens that have them."""
        if name != "pane":
            return
        panes = self.query(Panes)
        if panes:
            panes.first().next()
        else:
            self.focus_next()

    def perform_with(self, name: str, argument: str) -> None:
        """Do what a command of this screen names with what stood behind it: in the screens that take something."""
        raise NotImplementedError

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
        if not self.is_attached:  # the app closes, and what was to be mounted is not
            return
        with self.app.batch_update():
            self.set_class(state.link.age_s > 0, "-stale")
            self.query_one(TabBar).show(state)
            self.query_one(HeaderBar).show(state)
            self.query_one(ActionLine).show(state.action)
            self.query_one(KeyBar).show(state)
            self.show(state)
