"""The one stream of events: collected, folded, handed on at 20 Hz or less."""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING

from console.state.events import LATEST
from console.state.model import ConsoleState
from console.state.update import fold
from console.tui import garbage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from console.state.events import Event

TICK_S = 0.05
"""Least time between two states that are handed on: a terminal shows no more, and a frame costs some milliseconds."""
KEY_S = 0.03
"""How long a state that is due waits for what a key changed to be drawn: two frames at once take twice as long."""
REST_S = 0.01
"""Least time between a state that took longer than that and the next: what it changed is drawn meanwhile."""


class EventStream:
    """Events in, states out. Chatty events (LATEST) that nobody has seen yet are replaced by newer ones."""

    def __init__(self, sink: Callable[[ConsoleState], None], state: ConsoleState | None = None) -> None:
        self.state = state or ConsoleState()
        self.tap: Callable[[Sequence[Event]], None] | None = None
        """Is given what was folded, in that order: a recording."""
        self._sink = sink
        self._pending: dict[object, Event] = {}
        self._number = itertools.count()
        self._arrived = asyncio.Event()
        self._gives_way = False
        self._way_until = 0.0

    def give_way(self) -> None:
        """A key was pressed: the next state waits a moment, and what the key changes is drawn first."""
        self._gives_way = True
        now = asyncio.get_running_loop().time()
        if now >= self._way_until + KEY_S:  # of a key that is held, every second time: what comes may not wait for ever
            self._way_until = now + KEY_S

    async def way(self) -> None:
        """Who takes in a lot calls this in between: keys and frames have their turn."""
        await asyncio.sleep(max(0.0, self._way_until - asyncio.get_running_loop().time()))

    def put(self, event: Event) -> None:
        """Take in what happened."""
        key: object = type(event) if isinstance(event, LATEST) else next(self._number)
        self._pending.pop(key, None)  # so that the newer one takes its place in the order too
        self._pending[key] = event
        self._arrived.set()

    def flush(self) -> None:
        """Fold what is pending, and hand the state on if it changed."""
        events, self._pending = list(self._pending.values()), {}
        state = fold(self.state, events)
        if self.tap and events:
            self.tap(events)
        if state is not self.state:
            self.state = state
            self._sink(state)

    async def run(self) -> None:
        """Hand states on until cancelled: the first at once, the next a tick after it began."""
        clock = asyncio.get_running_loop().time
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            next_at = clock() + TICK_S
            self.flush()
            await asyncio.sleep(max(REST_S, next_at - clock()))
            if self._gives_way:
                self._gives_way = False
                await asyncio.sleep(KEY_S)
            garbage.look()
