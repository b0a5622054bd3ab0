"""Owns the open nodes: each with events, a state and a connected side of its own; one of them is looked at."""

from __future__ import annotations

import asyncio
import importlib
import traceback
from typing import TYPE_CHECKING

from console.errors import ConsoleError
from console.state.events import LinkChanged, NodeNamed, NodesSeen, ReadonlySet
from console.state.model import ConsoleState
from console.state.nodes_state import tab_of
from console.tui.log_pick import LogPick
from console.tui.stream import EventStream

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.notifications import SeverityLevel

    from console.actions.node import Node
    from console.state.model import Severity
    from console.tui.app import ConsoleApp
    from console.tui.connected import Connected

_TOASTS: dict[Severity, SeverityLevel] = {"error": "error", "warn": "warning", "info": "information"}


class OpenNode:
    """One node; `make` makes it without connecting to it."""

    def __init__(
        self, name: str, make: Callable[[], Node], taken: Callable[[OpenNode, ConsoleState], None], readonly: str
    ) -> None:
        self.name = name
        self.make = make
        self.stream = EventStream(lambda state: taken(self, state))
        self.connected: Connected | None = None
        """What needs the node; None until it is imported."""
        self.failure: ConsoleError | None = None
        """Why there was never a connection; None once there was one."""
        self.picked = LogPick()
        self.state = ConsoleState()
        """The last one that was handed on."""
        self.noticed = 0
        self.stream.put(NodeNamed(name, "", False))  # what it is says the node itself, before it is connected to
        self.stream.put(ReadonlySet(readonly))


class OpenNodes:
    """All of them, in the order they were named. Only the one that is shown has its state drawn."""

    def __init__(self, app: ConsoleApp, named: Sequence[tuple[str, Callable[[], Node]]], readonly: str) -> None:
        self._app = app
        self.all = [OpenNode(name, make, self._taken, readonly) for name, make in named]
        self._at = 0

    @property
    def shown(self) -> OpenNode:
        return self.all[self._at]

    @property
    def failure(self) -> ConsoleError | None:
        """Why there was never a connection to any of them."""
        failures = [node.failure for node in self.all]
        return failures[0] if all(failures) else None

    def start(self) -> None:
        """Begin to fold events, and connect after the first frame."""
        for node in self.all:
            node.stream.flush()
            self._app.run_worker(node.stream.run(), name=f"stream {node.name}", exit_on_error=False)
            self._app.call_after_refresh(self._app.connect, node)

    async def close(self) -> None:
        """Hang up everywhere; servers and probes stay."""
        await asyncio.gather(*(node.connected.close() for node in self.all if node.connected))

    def step(self, by: int) -> None:
        """Look at the next one, or the one before."""
        self.look_at((self._at + by) % len(self.all))

    def look_at(self, at: int) -> None:
        """Look at the one in this place."""
        self._at = at
        node = self.shown
        node.stream.put(NodesSeen(tuple(tab_of(each.state) for each in self.all), self._at))
        node.stream.flush()
        if node.connected:
            node.connected.read_for(self._app.current_mode)

    async def connect(self, node: OpenNode) -> None:
        """Connect and read until cancelled; what keeps it from that is told."""
        try:
            if node.connected is None:
                module = await asyncio.to_thread(importlib.import_module, "console.tui.connected")
                node.connected = module.Connected(self._app, node.stream, node.make(), node.picked)
            await node.connected.run()
        except ConsoleError as error:
            node.failure = error
            node.stream.put(LinkChanged("disconnected", error.message))
            self._tell_failure(node, error)
        except Exception as error:  # noqa: BLE001 - the worker's boundary: the console stays to say what happened
            self._app.show_error("A bug: reading stopped", repr(error), "", traceback.format_exc())

    def busy(self) -> list[str]:
        """What runs where, in words."""
        return [
            f"{each.state.action.title} is running{self._where(each)}" for each in self.all if each.state.action.is_busy
        ]

    def farewell(self) -> list[str]:
        """What goes on without the console, and how it is ended."""
        told = []
        for node in self.all:
            running = node.state.servers.running
            told += [f"server {run.run_id} goes on, port {run.port}{self._where(node)}" for run in running]
            if running:
                told.append(f"spec-console stop {node.name} ends a server of yours")
        return told

    def _where(self, node: OpenNode) -> str:
        return f" on {node.name}" if len(self.all) > 1 else ""

    def _tell_failure(self, node: OpenNode, error: ConsoleError) -> None:
        again = self._app.table.hint("{reread} tries again.")
        if node is self.shown:
            self._app.show_error(
                f"Not connected{self._where(node)}", error.message, f"{error.hint} {again}", error.detail
            )
        else:
            self._app.say(f"{node.name}: not connected: {error.message}. {error.hint}".strip(), "error")

    def _taken(self, node: OpenNode, state: ConsoleState) -> None:
        before, node.state = node.state, state
        if state.link.is_up:
            node.failure = None
        if node is self.shown:
            self._app.state = state
        if node.connected:
            self._read_more(node, before, state)
        for notice in state.notices.recent:
            if notice.number > node.noticed:
                node.noticed = notice.number
                where = f"{node.name}: " if len(self.all) > 1 else ""
                self._app.say(f"{where}{notice.text}", _TOASTS[notice.severity])
        self._tell_tabs()

    def _read_more(self, node: OpenNode, before: ConsoleState, state: ConsoleState) -> None:
        """What a change makes worth reading again."""
        assert node.connected
        if state.link.is_up and not before.link.is_up and node is self.shown:
            node.connected.read_for(self._app.current_mode)  # the screen was looked at before there was a link
        if state.runbook is not before.runbook:
            node.connected.compare()  # a step that is done may have stored a run

    def _tell_tabs(self) -> None:
        if len(self.all) < 2:
            return
        tabs, known = tuple(tab_of(each.state) for each in self.all), self.shown.state.nodes
        if (tabs, self._at) != (known.tabs, known.shown):
            self.shown.stream.put(NodesSeen(tabs, self._at))
