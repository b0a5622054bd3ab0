"""The console over a recording: the same screens, fed by a file at any speed. No node is needed or changed."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from textual import work

from console.errors import Refused
from console.state.events import LogOpened
from console.state.model import ConsoleState
from console.state.replay_state import ReplayMoved
from console.state.update import update
from console.tui.app import ConsoleApp
from console.tui.replay_door import WindowDoor

if TYPE_CHECKING:
    from console.state.events import Event
    from console.store.recordings import Recording
    from console.tui.open_nodes import OpenNode
    from console.tui.settings import Settings

LONGEST_WAIT_S = 3.0
"""A pause of the recording is not waited for longer than this, at any speed."""
TOLD_EVERY_S = 0.5
AT_ONCE = 50
"""Events that are taken in before the screen has its turn."""


class ReplayApp(ConsoleApp):
    """`speed` is a factor; `to_end` shows the last state at once."""

    def __init__(
        self, recording: Recording, speed: float, *, to_end: bool = False, settings: Settings | None = None
    ) -> None:
        name = str(recording.header.get("node", ""))[:200]
        super().__init__(name, _no_node, simulated=recording.header.get("simulated") is True, settings=settings)
        self._recording = recording
        self._speed = speed
        self._to_end = to_end
        self._begun = False
        self._source = recording.path.name
        self.stream.put(ReplayMoved(self._source, 0.0))

    def connect(self, _node: OpenNode) -> None:
        """A recording is read once."""
        if not self._begun:
            self._begun = True
            self._read()

    @work(group="bridge", exclusive=True, exit_on_error=False)
    async def _read(self) -> None:
        at = await self._play()
        self.stream.put(ReplayMoved(self._source, at, self._recording.ended))
        if not self._recording.is_whole:
            self.say(f"The recording ends early: {self._recording.ended}", "warning")

    async def _play(self) -> float:
        """Give the stream one event after another, when it is due; return the time of the last."""
        clock = asyncio.get_running_loop().time
        known, at, due, told = ConsoleState(), 0.0, clock(), 0.0
        for number, (t, event) in enumerate(self._recording.events()):
            due += 0.0 if self._to_end else min((t - at) / self._speed, LONGEST_WAIT_S)
            at = t
            if (wait := due - clock()) > 0 or number % AT_ONCE == 0:
                await asyncio.sleep(max(0.0, wait))
            try:
                known = update(known, event)  # here first: an event that cannot be folded must not stop the stream
            except Exception as error:  # noqa: BLE001 - anybody wrote it: what is not true of it shows here
                self._recording.failed(error)
                return at
            self.stream.put(_with_door(event))
            if clock() - told >= TOLD_EVERY_S:
                told = clock()
                self.stream.put(ReplayMoved(self._source, at))
        return at


def _with_door(event: Event) -> Event:
    return replace(event, door=WindowDoor(event.window)) if isinstance(event, LogOpened) else event


def _no_node() -> NoReturn:
    raise Refused("a replay has no node")
