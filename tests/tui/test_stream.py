"""The stream: everything is folded in order, and what comes in a flood is handed on a few times."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from console.state import events
from console.tui.stream import KEY_S, TICK_S, EventStream
from tests.unit.state.samples import telemetry
from tests.waiting import until

if TYPE_CHECKING:
    from console.state.model import ConsoleState


async def test_a_flood_is_handed_on_at_the_pace_of_the_screen():
    states: list[tuple[float, ConsoleState]] = []
    clock = asyncio.get_running_loop().time
    stream = EventStream(lambda state: states.append((clock(), state)))
    pump = asyncio.create_task(stream.run())
    for number in range(2000):
        stream.put(events.ActionSaid(str(number)))
        if number % 100 == 0:
            await asyncio.sleep(0.005)
    await until(lambda: stream.state.action.lines[-1:] == ("1999",))
    pump.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await pump
    ticks = (states[-1][0] - states[0][0]) / TICK_S
    assert len(states) <= ticks + 2
    assert len(states) < 50


def test_only_the_newest_reading_is_folded_and_in_its_place():
    stream = EventStream(lambda _state: None)
    stream.put(events.TelemetrySampled(telemetry(0, 1)))
    stream.put(events.InventoryRead(None, telemetry(0, 2), (), (), 0, ""))  # type: ignore[arg-type]
    stream.put(events.TelemetrySampled(telemetry(0, 3)))
    stream.flush()
    assert stream.state.gpus.sample == telemetry(0, 3)


def test_nothing_is_handed_on_when_nothing_changed():
    states: list[ConsoleState] = []
    stream = EventStream(states.append)
    stream.put(events.LogFed("r1", 1, 1, 1))
    stream.flush()
    assert states == []


async def test_who_takes_in_a_lot_waits_for_a_key_and_not_for_each_of_one_that_is_held():
    clock, stream = asyncio.get_running_loop().time, EventStream(lambda _state: None)
    pressed = clock()
    stream.give_way()
    until_then = stream._way_until
    stream.give_way()  # the next of a held key
    assert stream._way_until == until_then
    await stream.way()
    assert clock() - pressed >= 0.9 * KEY_S
