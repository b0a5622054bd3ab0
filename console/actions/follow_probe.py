"""Follow a probe on its node to its end: its spool, how far it is, and whether an adaptive one has enough blocks."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from console.errors import NodeLost, Unreachable
from console.probe.stats import enough, half_width
from console.probe.trace import BlockTrace, Done, Progress, SpoolFormatError, parse_event
from console.remote.session import LinkLost
from console.units import format_percent, format_rate

if TYPE_CHECKING:
    from console.actions.node import Node, Say
    from console.actions.probe_record import StopRule
    from console.errors import ConsoleError
    from remote_agent.protocol import ProbeRun

POLL_S = 2.0
LAST_WORDS_S = 10.0
TELL_S = 3.0
ALIVE = ("running", "starting")


async def follow(node: Node, probe: ProbeRun, rule: StopRule | None, say: Say) -> bytes:
    """Return the whole spool, up to its last event; of a probe that was killed, what it has written.

    A lost connection is resumed, the probe goes on meanwhile.

    Raises:
        NodeLost: the connection was given up; the probe goes on, and can be collected later.
    """
    reader = _Reader(node, probe, rule, say)
    reading = asyncio.create_task(reader.read())
    try:
        while not (await asyncio.wait({reading}, timeout=POLL_S))[0]:
            if await _state(node, probe) not in ALIVE:
                # It has written all it ever will: what is not read now is there at once.
                await asyncio.wait({reading}, timeout=LAST_WORDS_S)
                break
        if reading.done():
            reading.result()
        return bytes(reader.spool)
    except (LinkLost, Unreachable) as error:
        raise given_up(node, probe, error) from None
    finally:
        reading.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await reading


def given_up(node: Node, probe: ProbeRun, error: ConsoleError) -> NodeLost:
    """The connection is not coming back; the probe does not need it."""
    hint = f"It goes on there: `probe {node.name} --adopt {probe.run_id}` keeps its result."
    return NodeLost(f"the connection was lost during probe {probe.run_id}", hint, error.message)


async def _state(node: Node, probe: ProbeRun) -> str:
    """The probe's state: watched beside its spool, for a killed one writes no end."""
    while True:
        try:
            return next((each.state for each in await node.agent.probes() if each.run_id == probe.run_id), "lost")
        except LinkLost:
            await node.agent.session.connected()


class _Reader:
    """Reads one spool."""

    def __init__(self, node: Node, probe: ProbeRun, rule: StopRule | None, say: Say) -> None:
        self.spool = bytearray()
        self._node = node
        self._probe = probe
        self._ending = Ending(rule)
        self._telling = Telling(say, self._ending)

    async def read(self) -> None:
        pending = b""
        async for part in self._node.agent.follow(self._probe.spool):
            self.spool += part.data
            *lines, pending = (pending + part.data).split(b"\n")
            for line in lines:
                with contextlib.suppress(SpoolFormatError):  # counted when the whole spool is read
                    event = parse_event(line)
                    is_enough = self._ending.after(event)
                    self._telling.take(event)
                    if isinstance(event, Done):
                        return
                    if is_enough:
                        await self._finish()

    async def _finish(self) -> None:
        try:
            await self._node.agent.finish_probe(self._probe.run_id)
        except NodeLost:
            self._ending.take_back()


class Ending:
    """Decides at each block whether an adaptive run has enough of them; says so once."""

    def __init__(self, rule: StopRule | None) -> None:
        self._rule = rule
        self._rates: list[float] = []
        self._is_said = False

    @property
    def is_adaptive(self) -> bool:
        """Is the number of blocks open?"""
        return self._rule is not None

    @property
    def width(self) -> float | None:
        """Relative half-width of the interval now; None for a run of a given number of blocks, or too few of them."""
        return half_width(self._rule.against, self._rates) if self._rule else None

    def after(self, event: object) -> bool:
        """Take in an event; is the run to end after it?"""
        if self._rule is None or not isinstance(event, BlockTrace) or not (event.wall_s and event.completion_tokens):
            return False
        self._rates.append(event.completion_tokens / event.wall_s)
        if self._is_said or len(self._rates) < self._rule.least_blocks:
            return False
        self._is_said = enough(self._rule.against, self._rates, self._rule.half_width)
        return self._is_said

    def take_back(self) -> None:
        """The run could not be told: ask again at the next block."""
        self._is_said = False


class Telling:
    """Says how far the probe is: each block, and in between not oftener than every TELL_S seconds."""

    def __init__(self, say: Say, ending: Ending) -> None:
        self._say = say
        self._ending = ending
        self._at = 0.0
        self._elapsed = 0.0

    def take(self, event: object) -> None:
        if isinstance(event, BlockTrace):
            rate = event.completion_tokens / event.wall_s if event.wall_s else None
            width = self._ending.width
            narrow = "" if width is None else f", interval ± {format_percent(width)}"
            self._say(f"block {event.block + 1}: {format_rate(rate)}{narrow}")
        elif isinstance(event, Progress):
            self._progress(event)

    def _progress(self, event: Progress) -> None:
        if event.elapsed_s < self._elapsed:  # a new block counts from zero
            self._at = 0.0
        self._elapsed = event.elapsed_s
        if event.elapsed_s - self._at < TELL_S:
            return
        self._at = event.elapsed_s
        where = f"block {event.block + 1}{self._of(event)}" if event.block >= 0 else "warm-up"
        rate = format_rate(event.completion_tokens / event.elapsed_s)
        self._say(f"{where}: {event.done}/{event.of} requests, {event.completion_tokens} tokens, {rate}")

    def _of(self, event: Progress) -> str:
        return "" if self._ending.is_adaptive else f"/{event.blocks}"
