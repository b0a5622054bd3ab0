"""Screen 3: the profiles, what the rules find, and the exact command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on, work
from textual.containers import Container, VerticalScroll

from console.errors import ConsoleError
from console.state.events import ProfileSelected
from console.tui.messages import Happened
from console.tui.modals.error import ErrorModal
from console.tui.screen import ConsoleScreen
from console.tui.text import paragraphs
from console.tui.widgets.launch_words import launch_words
from console.tui.widgets.panes import Pane
from console.tui.widgets.status import Prose
from console.tui.widgets.table import Column, Row, Table
from console.units import NONE

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from console.state.model import ConsoleState, ProfileView
    from console.tui.text import Line


class LaunchScreen(ConsoleScreen):
    """What L would launch."""

    NAME = "launch"
    AUTO_FOCUS = "#profiles"

    def body(self) -> ComposeResult:
        yield Container(
            Pane("profiles-pane", "Profiles", _profile_table(), short=True),
            Pane("command-pane", "Findings and command", VerticalScroll(Prose("command"))),
            id="launch",
            classes="stacked",
        )

    def show(self, state: ConsoleState) -> None:
        profiles = state.profiles
        table = self.query_one("#profiles", Table)
        table.show(list(map(_profile, profiles.found)), "no profile was found")
        table.move_to(profiles.selected)
        self.query_one("#profiles-pane", Pane).retitle(f"Profiles {len(profiles.found)}")
        self.query_one("#command-pane", Pane).retitle(_title(state))
        self.query_one("#command", Prose).say(paragraphs(launch_words(state, self.table.hint)))

    def perform(self, name: str) -> None:
        own = {"launch.edit": self._edit, "launch.fields": self._show_fields}
        if name not in own:
            super().perform(name)
        elif self._known.profiles.selected:
            own[name](self._known.profiles.selected)

    @work(group="question", exclusive=True)
    async def _show_fields(self, name: str) -> None:
        from console.tui.modals.fields import FieldsModal

        await self.app.push_screen_wait(FieldsModal(name))
        await self.run_action("app.invoke('reread')")

    @work(group="question", exclusive=True)
    async def _edit(self, name: str) -> None:
        from console.tui.profile_edit import edit_in_console

        try:
            self.notify(await edit_in_console(self.app, name), markup=False)
        except ConsoleError as error:
            self.app.push_screen(ErrorModal(f"{name} was not saved", error.message, error.hint, error.detail))
        await self.run_action("app.invoke('reread')")

    @on(Table.Moved, "#profiles")
    def _select(self, message: Table.Moved) -> None:
        message.stop()
        if message.key != self._known.profiles.selected:
            self.post_message(Happened(ProfileSelected(message.key)))


def _title(state: ConsoleState) -> str:
    running, name = state.servers.running_of(state.profiles.selected), state.profiles.selected or "No profile"
    ports = ", ".join(str(run.port) for run in running)
    return f"{name}: running on port {ports}" if running else f"{name}: findings and command"


def _profile_table() -> Table:
    return Table(
        "profiles",
        Column("profile"),
        Column("speculative"),
        Column("patches", from_width=60),
        Column("baseline", from_width=100),
        Column("description", flex=True),
    )


def _profile(view: ProfileView) -> Row:
    told: Line = (view.problem, "error") if view.problem else (view.description, "")
    cells = (view.speculative or NONE, ", ".join(view.patches) or NONE, view.baseline or NONE)
    return Row(view.name, (view.name, *cells, told))


SCREEN = LaunchScreen
