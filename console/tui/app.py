"""The app: keys to actions, events to state, state to the screen that is seen.

It paints first. What needs a node is imported in a thread after that, and then connected.
"""

from __future__ import annotations

import asyncio
import importlib
import traceback
from functools import partial
from typing import TYPE_CHECKING, ClassVar, cast

from rich.text import Text
from textual import on, work
from textual.app import App, SystemCommand
from textual.binding import Binding
from textual.reactive import var

from console.errors import ConsoleError
from console.state.events import LinkChanged, NodeNamed, ProfileSelected, RunbookCleared
from console.state.model import ConsoleState
from console.tui.keys import BY_ID, KEYS, SCREENS, on_screen
from console.tui.log_pick import LogPick
from console.tui.messages import CompareAsked, DetailAsked, Happened, LogChoiceAsked
from console.tui.screen import ConsoleScreen
from console.tui.stream import EventStream
from console.units import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from textual.binding import BindingType
    from textual.notifications import SeverityLevel
    from textual.screen import Screen

    from console.actions.node import Node
    from console.state.model import Severity
    from console.tui.connected import Connected

_TOASTS: dict[Severity, SeverityLevel] = {"error": "error", "warn": "warning", "info": "information"}
_STAYS = "A server that it has started stays; a probe is ended."
SETTLE_S = 0.15
"""A cursor that runs over the profiles asks the node only about the one that it stops at."""


def _screen(name: str) -> Screen[None]:
    """Import a screen when it is first looked at."""
    return cast("Screen[None]", importlib.import_module(f"console.tui.screens.{name}").SCREEN())


class ConsoleApp(App[None]):
    """The console on one node, which `make_node` makes without connecting to it."""

    TITLE = "spec-console"
    CSS_PATH = "app.tcss"
    MODES: ClassVar[dict[str, str | Callable[[], Screen[None]]]] = {name: partial(_screen, name) for name in SCREENS}
    DEFAULT_MODE = SCREENS[0]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (140, "-wide")]  # noqa: RUF012 - Textual declares it so
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(key.key, f"invoke('{key.id}')", key.title, show=False, id=key.id) for key in KEYS if key.is_bound),
        # Before a screen's own copy and the app's hint at ctrl+q.
        Binding("ctrl+c", "interrupt", "Cancel", show=False, priority=True, id="interrupt"),
    ]

    state: var[ConsoleState] = var(ConsoleState, init=False)  # a `reactive` would have the whole screen drawn anew

    def __init__(self, name: str, make_node: Callable[[], Node], *, simulated: bool = False) -> None:
        super().__init__()
        self.stream = EventStream(self._take)
        self.failure: ConsoleError | None = None
        """Why there was never a connection; None once there was one."""
        self._make_node = make_node
        self._connected: Connected | None = None
        self._picked = LogPick()
        self._noticed = 0
        self.stream.put(NodeNamed(name, "", simulated))

    # Life

    def on_mount(self) -> None:
        self.stream.flush()
        self.run_worker(self.stream.run(), name="stream", exit_on_error=False)
        self.call_after_refresh(self._connect)

    async def on_unmount(self) -> None:
        if self._connected:
            await self._connected.close()

    @work(group="bridge", exclusive=True, exit_on_error=False)
    async def _connect(self) -> None:
        try:
            if self._connected is None:
                module = await asyncio.to_thread(importlib.import_module, "console.tui.connected")
                self._connected = module.Connected(self, self.stream, self._make_node(), self._picked)
            await self._connected.run()
        except ConsoleError as error:
            self.failure = error
            self.stream.put(LinkChanged("disconnected", error.message))
            self._show_error("Not connected", error.message, f"{error.hint} r tries again.", error.detail)
        except Exception as error:  # noqa: BLE001 - the worker's boundary: the console stays to say what happened
            self._show_error("A bug: reading stopped", repr(error), "", traceback.format_exc())

    def _take(self, state: ConsoleState) -> None:
        before, self.state = self.state, state
        if state.link.is_up:
            self.failure = None
        if state.link.is_up and not before.link.is_up and self._connected:
            self._connected.read_for(self.current_mode)  # the screen was looked at before there was a link
        if state.runbook is not before.runbook and self._connected:
            self._connected.compare()  # a step that is done may have stored a run
        for notice in state.notices.recent:
            if notice.number > self._noticed:
                self._noticed = notice.number
                self.notify(plain(notice.text), severity=_TOASTS[notice.severity], markup=False)

    # Keys

    def action_invoke(self, name: str) -> None:
        """Do what a key names, or say why not."""
        key = BY_ID[name]
        why = key.why_not(self.stream.state)
        if why and name != "cancel":
            self.notify(plain(why), title=f"{key.title}: not now", severity="warning", markup=False)
        elif key.group == "change" and self._connected:
            self._connected.start(key)
        elif key.group == "screens":
            self._go_to(name.removeprefix("screen."))
        elif name in self._own:
            self._own[name](self)
        elif isinstance(self.screen, ConsoleScreen):
            self.screen.perform(name)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A key may mean another action on another screen."""
        return action != "invoke" or BY_ID[str(parameters[0])] in on_screen(self.current_mode)

    def action_interrupt(self) -> None:
        """ctrl+c: answer no to what is asked, else offer to cancel what runs."""
        if self.screen.is_modal:
            self.screen.dismiss(None)
        elif self.stream.state.action.is_busy:
            self._ask_cancel()
        else:
            self.notify("nothing is running; q quits", markup=False)

    async def action_quit(self) -> None:
        """ctrl+q and the palette quit as q does."""
        self._quit()

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """What the palette offers: the keys of this screen, then Textual's own."""
        for key in filter(lambda key: key.is_bound, on_screen(self.current_mode)):
            why = key.why_not(self.stream.state)
            told = f"key {key.label}{f'; not now: {why}' if why else ''}"
            yield SystemCommand(key.title, plain(told), partial(self.action_invoke, key.id))
        yield from super().get_system_commands(screen)

    def _go_to(self, screen: str) -> None:
        self.switch_mode(screen)
        if self._connected:
            self._connected.read_for(screen)

    def _help(self) -> None:
        from console.tui.modals.help import HelpModal

        self.push_screen(HelpModal(self.current_mode, self.stream.state))

    def _clear(self) -> None:
        self.stream.put(RunbookCleared())

    def _reread(self) -> None:
        """Read everything that this screen shows; when the first connect failed, try it again."""
        if self.stream.state.link.name == "disconnected":
            self._connect()
        elif self._connected:
            self._connected.reread()

    @work(group="question")
    async def _ask_cancel(self) -> None:
        title = self.stream.state.action.title
        if self.stream.state.action.is_busy and await self._asked(
            f"Cancel {title}?", "C", f"{title} is running.", "C: cancel it.  Enter, Esc: let it go on."
        ):
            cast("Connected", self._connected).cancel()

    @work(group="question")
    async def _quit(self) -> None:
        state = self.stream.state
        if state.action.is_busy and not await self._asked(
            "Quit?", "q", f"{state.action.title} is running.", "q again: quit.  Enter, Esc: stay."
        ):
            return
        told = [f"server {run.run_id} goes on, port {run.port}" for run in state.servers.running]
        if told:
            told.append(f"spec-console stop {state.node.name} ends a server of yours")
        self.exit(message=Text(plain("\n".join(told), lines=True)) if told else None)

    async def _asked(self, title: str, key: str, line: str, footer: str) -> bool:
        from console.tui.modals.plan import PlanModal

        answer: bool | None = await self.push_screen_wait(PlanModal(title, key, [line, _STAYS], footer=footer))
        return bool(answer)

    def _show_error(self, title: str, message: str, hint: str, detail: str) -> None:
        from console.tui.modals.error import ErrorModal

        self.push_screen(ErrorModal(title, message, hint, detail))

    # Messages of screens

    @on(Happened)
    def _happened(self, message: Happened) -> None:
        self.stream.put(message.event)
        if isinstance(message.event, ProfileSelected) and self._connected:
            self._connected.read_for(self.current_mode, SETTLE_S)

    @on(CompareAsked)
    def _compare(self, message: CompareAsked) -> None:
        if self._connected:
            self._connected.compare(message.baseline, message.candidate)

    @on(LogChoiceAsked)
    @work(group="question")
    async def _choose_log(self) -> None:
        from console.tui.modals.log_source import LogSourceModal

        connected = self._connected if self.stream.state.link.is_up else None
        modal = LogSourceModal(connected.log_sources if connected else None)
        if (picked := await self.push_screen_wait(modal)) is None:
            return
        self._picked = picked
        if self._connected:
            self._connected.open_log(picked)
        if not self.stream.state.link.is_up:
            self.notify(f"opened once connected: {plain(picked.name)}", markup=False)

    @on(DetailAsked)
    def _show_detail(self, message: DetailAsked) -> None:
        from console.tui.modals.dialog import Dialog

        self.push_screen(Dialog(message.title, message.lines))

    _own: ClassVar[dict[str, Callable[[ConsoleApp], object]]] = {
        "help": _help,
        "clear": _clear,
        "reread": _reread,
        "cancel": _ask_cancel,
        "quit": _quit,
    }
