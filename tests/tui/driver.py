"""A user at the console: presses keys, looks at the screen, waits for what it shows."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from textual._context import visible_screen_stack

from console.tui.modals.plan import PlanModal
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.pilot import Pilot

    from console.actions.node import Node
    from console.state.events import Event
    from console.state.model import ConsoleState
    from console.tui.app import ConsoleApp

LOOK_S = 0.15


class Driver:
    """One open console."""

    def __init__(self, app: ConsoleApp, pilot: Pilot[Any]) -> None:
        self.app = app
        self.pilot = pilot
        self.node: Node

    @property
    def state(self) -> ConsoleState:
        return self.app.state

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def put(self, *events: Event) -> None:
        """Let something have happened, and the screen drawn."""
        for event in events:
            self.app.stream.put(event)
        self.app.stream.flush()
        await self.pilot.pause()

    async def until(self, is_so: Callable[[], bool], timeout_s: float = 30.0) -> None:
        try:
            await until(is_so, timeout_s)
        except TimeoutError:
            raise AssertionError(f"not so within {timeout_s} s; the screen:\n{self.screen()}") from None
        await self.pilot.pause()

    async def until_shown(self, text: str, timeout_s: float = 30.0) -> None:
        clock = asyncio.get_running_loop().time
        deadline = clock() + timeout_s
        while text not in (shown := self.screen()):
            assert clock() < deadline, f"{text!r} was not shown within {timeout_s} s:\n{shown}"
            # Reading a screen costs as much as drawing it: leave the console some time in between.
            await self.pilot.pause(LOOK_S)

    async def confirm(self, key: str) -> None:
        """Ask for an action, wait for its plan, and confirm it by the same key."""
        await self.ask(key)
        await self.press(key)
        await self.until(lambda: not isinstance(self.app.screen, PlanModal))

    async def ask(self, key: str) -> PlanModal:
        """Ask for an action and wait until its plan can be answered."""
        await self.press(key)
        await self.until(lambda: isinstance(self.app.screen, PlanModal) and self.app.screen.is_armed)
        assert isinstance(self.app.screen, PlanModal)
        return self.app.screen

    def screen(self) -> str:
        """What is to be read on the screen, line by line, each text in its column."""
        drawn = visible_screen_stack.set(self.app._background_screens)  # what shows through a modal
        try:
            strips = self.app.screen._compositor.render_strips()
        finally:
            visible_screen_stack.reset(drawn)
        return "\n".join(text for strip in strips if (text := strip.text.rstrip()))
