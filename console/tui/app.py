"""The app: keys to actions, events to state, state to the screen that is seen.

It paints first. What needs a node is imported in a thread after that, and then connected.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import App
from textual.binding import Binding
from textual.events import InputEvent
from textual.reactive import var

from console.state.events import NodeNamed, ProfileSelected
from console.state.model import ConsoleState
from console.tui import ahead, garbage, own_actions, run_keys, themes
from console.tui.keys import SCREENS
from console.tui.messages import CompareAsked, DetailAsked, Happened, LogChoiceAsked, RunChangeAsked, RunLogAsked
from console.tui.open_nodes import OpenNode, OpenNodes
from console.tui.screen import ConsoleScreen
from console.tui.settings import Settings
from console.units import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.binding import BindingType
    from textual.events import Event as TextualEvent
    from textual.notifications import SeverityLevel
    from textual.screen import Screen

    from console.actions.node import Node
    from console.errors import ConsoleError
    from console.state.events import Event
    from console.tui.commands import Said
    from console.tui.connected import Connected
    from console.tui.log_pick import LogPick
    from console.tui.stream import EventStream

SETTLE_S = 0.15
"""A cursor that runs over the profiles, or a look through the screens, asks the node only about where it stops."""
SWITCH_S = 0.001
"""How long nothing is painted when another screen comes to the front: until that is drawn from the newest state."""


class ConsoleApp(App[None]):
    """The console on a node, which `make_node` makes without connecting to it; `others` are open beside it."""

    TITLE = "spec-console"
    CSS_PATH = "app.tcss"
    ENABLE_COMMAND_PALETTE = False  # ours is an action of the table; Textual's would open over a plan, too
    MODES: ClassVar[dict[str, str | Callable[[], Screen[None]]]] = {name: partial(ahead.make, name) for name in SCREENS}
    DEFAULT_MODE = SCREENS[0]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (140, "-wide")]  # noqa: RUF012 - Textual declares it so
    BINDINGS: ClassVar[list[BindingType]] = [
        # Before a screen's own copy and the app's hint at ctrl+q.
        Binding("ctrl+c", "interrupt", "Cancel", show=False, priority=True, id="interrupt"),
    ]

    state: var[ConsoleState] = var(ConsoleState, init=False)  # a `reactive` would have the whole screen drawn anew

    def __init__(
        self,
        name: str,
        make_node: Callable[[], Node],
        *,
        simulated: bool = False,
        others: Sequence[tuple[str, Callable[[], Node]]] = (),
        settings: Settings | None = None,
    ) -> None:
        super().__init__(ansi_color=True if themes.is_colourless() else None)
        for exported in ("COLUMNS", "LINES"):  # by a shell: they would hide that the terminal changes its size
            os.environ.pop(exported, None)
        self.settings = settings or Settings()
        self.table = self.settings.table
        for key in self.table.keys:
            # What is typed right behind the command line's key belongs into it: nothing may come between.
            for each in key.keys:
                self._bindings.bind(each, f"invoke('{key.id}')", key.title, show=False, priority=key.id == "command")
        self.theme = themes.textual_theme(self.settings.theme or themes.default_theme())
        # The sheet came with the variables of the default theme; screens are made from it as it stands.
        self.stylesheet.set_variables(self.get_css_variables())
        self.nodes: OpenNodes = OpenNodes(self, ((name, make_node), *others), self.settings.readonly)
        if simulated:
            self.stream.put(NodeNamed(name, "", simulated))

    @property
    def stream(self) -> EventStream:
        """What happens on the node that is looked at."""
        return self.nodes.shown.stream

    @property
    def connected(self) -> Connected | None:
        """What needs that node; None until it is imported."""
        return self.nodes.shown.connected

    @property
    def failure(self) -> ConsoleError | None:
        """Why there was never a connection; None once there was one."""
        return self.nodes.failure

    # Life

    def on_mount(self) -> None:
        self.call_after_refresh(garbage.begin)
        self.nodes.start()
        for told in self.settings.complaints:
            self.say(told, "warning", title="keys.yaml")
        if self.settings.mounts_ahead:
            self.run_worker(ahead.make_all(self), name="ahead", exit_on_error=False)

    async def on_unmount(self) -> None:
        await self.nodes.close()

    def connect(self, node: OpenNode) -> None:
        """Connect to a node, or once more when the first time failed."""
        self.run_worker(self.nodes.connect(node), group=f"bridge {node.name}", exclusive=True, exit_on_error=False)

    # Keys

    async def on_event(self, event: TextualEvent) -> None:
        if isinstance(event, InputEvent):
            self.stream.give_way()
        await super().on_event(event)

    def action_invoke(self, name: str) -> None:
        """Do what a key names, or say why not."""
        key = self.table[name]
        why = self.table.why_not(name, self.stream.state)
        if why and name != "cancel":
            self.say(why, "warning", title=f"{key.title}: not now")
        elif key.group == "change" and self.connected:
            self.connected.start(key)
        elif key.group == "screens":
            self.go_to(name.removeprefix("screen."))
        elif name in own_actions.OWN:
            own_actions.OWN[name](self)
        elif isinstance(self.screen, ConsoleScreen):
            self.screen.perform(name)

    @work(group="command")
    async def obey(self, said: Said) -> None:
        """Do what a command says: what stands behind it is selected first; an action of another screen goes there."""
        from console.tui.obey import obey

        await obey(self, said)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A key may mean another action on another screen, and none under a question."""
        if action != "invoke":
            return True
        return not self.screen.is_modal and self.current_mode in self.table[str(parameters[0])].screens

    def action_interrupt(self) -> None:
        """ctrl+c: answer no to what is asked, else offer to cancel what runs."""
        if self.screen.is_modal:
            self.screen.dismiss(None)
        elif self.stream.state.action.is_busy:
            own_actions.cancel(self)
        else:
            self.say(self.table.hint("nothing is running; {quit} quits"))

    async def action_quit(self) -> None:
        """ctrl+q quits as q does."""
        own_actions.quit_(self)

    def go_to(self, screen: str) -> None:
        """Bring a screen to the front, and read what only it shows."""
        self.switch_mode(screen)
        if self.connected:
            self.connected.read_for(screen, SETTLE_S)

    def delay_update(self, delay: float = SWITCH_S) -> None:
        """Textual's hides for 50 ms how a screen comes to the front; ours has no more to hide than being drawn."""
        super().delay_update(min(delay, SWITCH_S))

    def say(self, told: str, severity: SeverityLevel = "information", title: str = "") -> None:
        """Say something in a corner of the screen for some seconds; foreign text is made plain."""
        self.notify(plain(told), title=title, severity=severity, markup=False)

    def show_error(self, title: str, message: str, hint: str, detail: str) -> None:
        """Say what went wrong, until it was read."""
        from console.tui.modals.error import ErrorModal

        self.push_screen(ErrorModal(title, message, hint, detail))

    # Messages of screens, and what commands say without one

    @on(Happened)
    def _happened(self, message: Happened) -> None:
        self.happened(message.event)

    def happened(self, event: Event) -> None:
        """Take in what the user did."""
        self.stream.put(event)
        if isinstance(event, ProfileSelected) and self.connected:
            self.connected.read_for(self.current_mode, SETTLE_S)

    @on(CompareAsked)
    def _compare(self, message: CompareAsked) -> None:
        if self.connected:
            self.connected.compare(message.baseline, message.candidate)

    @on(LogChoiceAsked)
    @work(group="question")
    async def _choose_log(self) -> None:
        from console.tui.modals.log_source import LogSourceModal

        connected = self.connected if self.stream.state.link.is_up else None
        modal = LogSourceModal(connected.log_sources if connected else None)
        if picked := await self.push_screen_wait(modal):
            self.open_log(picked)

    def open_log(self, picked: LogPick) -> None:
        """Follow a log of the node, now or as soon as there is a link."""
        self.nodes.shown.picked = picked
        if self.connected:
            self.connected.open_log(picked)
        if not self.stream.state.link.is_up:
            self.say(f"opened once connected: {picked.name}")

    @on(RunChangeAsked)
    def _change_run(self, message: RunChangeAsked) -> None:
        run_keys.change(self, message.change)

    @on(RunLogAsked)
    def _open_run_log(self, message: RunLogAsked) -> None:
        run_keys.open_log(self, message.run_id, message.launch_id)

    @on(DetailAsked)
    def _show_detail(self, message: DetailAsked) -> None:
        from console.tui.modals.dialog import Dialog

        self.push_screen(Dialog(message.title, message.lines))
