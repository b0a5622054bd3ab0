"""Screen 3: the profiles, what the rules find, and the exact command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on, work
from textual.containers import Container, VerticalScroll
from textual.widgets import Static

from console.errors import ConsoleError
from console.state.events import ProfileSelected
from console.tui.messages import Happened
from console.tui.modals.error import ErrorModal
from console.tui.screen import ConsoleScreen
from console.tui.text import paragraphs, tone_of
from console.tui.widgets.panes import Pane
from console.tui.widgets.table import Column, Row, Table
from console.units import NONE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual.app import ComposeResult

    from console.state.model import ConsoleState, ProfilesState, ProfileView
    from console.tui.text import Line


class LaunchScreen(ConsoleScreen):
    """What L would launch."""

    NAME = "launch"

    def body(self) -> ComposeResult:
        yield Container(
            Pane("profiles-pane", "Profiles", _profile_table(), short=True),
            Pane("command-pane", "Findings and command", VerticalScroll(Static(markup=False, id="command"))),
            id="launch",
            classes="stacked",
        )

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one("#profiles").focus()

    def show(self, state: ConsoleState) -> None:
        profiles = state.profiles
        table = self.query_one("#profiles", Table)
        table.show(list(map(_profile, profiles.found)), "no profile was found")
        table.move_to(profiles.selected)
        self.query_one("#profiles-pane", Pane).retitle(f"Profiles {len(profiles.found)}")
        self.query_one("#command-pane", Pane).retitle(f"{profiles.selected or 'No profile'}: findings and command")
        self.query_one("#command", Static).update(paragraphs(_told(profiles, state)))

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


def _told(profiles: ProfilesState, state: ConsoleState) -> Iterator[Line | str]:
    current = profiles.current
    if current and current.problem:
        yield (current.problem, "error")
    elif profiles.problem:
        yield (profiles.problem, "error")
    elif profiles.launch is None:
        yield ("planning on the node…" if state.link.is_up else f"not connected: {state.link.name}", "dim")
    else:
        yield from _findings(profiles)
        if profiles.launch.wiring:
            yield ""
            yield from profiles.launch.wiring
        yield ""
        yield from profiles.launch.command


def _findings(profiles: ProfilesState) -> Iterator[Line | str]:
    assert profiles.launch
    if not profiles.launch.findings:
        yield ("no finding: nothing stands against this launch", "ok")
    findings = profiles.launch.findings
    for index, each in enumerate(findings):
        yield (f"{each.severity}: {each.message} [{each.rule}]", tone_of(each.severity))
        # Eight GPUs that are held want one advice.
        if each.hint and each.hint not in (after.hint for after in findings[index + 1 : index + 2]):
            yield (f"  {each.hint}", "dim")


SCREEN = LaunchScreen
