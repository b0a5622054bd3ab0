"""The line to the node: round trip, 64 kB each way beside small messages, and the node's clock. No agent is needed."""

from __future__ import annotations

import os
import re
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from console.actions.checkup.check import Check, shown
from console.actions.checkup.talk import Silent, talk
from console.units import format_seconds

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from console.remote.transport import Transport

SAMPLES = 9
LARGE = 64 * 1024
SLOW_S = 3.0
"""64 kB that take longer make the agent's first upload (150 kB) and every log slow."""
SKEW_S = 1.0
MTU = (
    "Small messages pass and large ones do not: packets of full size are lost on the way (a VPN or tunnel whose MTU is "
    "smaller, and ICMP filtered). Lower the MTU of your interface, e.g. `ip link set dev tun0 mtu 1280`, and try again."
)
# The words are sent as they are: random bytes, which no compression on the way makes smaller.
_UP = "wc -c"
_DOWN = f"dd if=/dev/urandom bs=1024 count={LARGE // 1024} 2>/dev/null"
_TIME = re.compile(rb"\d{9,11}(?!\d)(\.\d{1,9}(?!\d))?")
_CLOCK = "while read word; do date +%s.%N; done"


@dataclass(frozen=True, slots=True)
class Trip:
    """One question for the node's time: when it was sent and answered here, and what it said, in wall seconds."""

    sent: float
    answered: float
    told: float
    whole: bool
    """The node's `date` knows whole seconds only."""

    @property
    def error_s(self) -> float:
        """Half the round trip, and half a second where the node tells whole ones."""
        return (self.answered - self.sent) / 2 + (0.5 if self.whole else 0.0)

    @property
    def skew_s(self) -> float:
        """The node's clock minus ours, within `error_s`."""
        return self.told + (0.5 if self.whole else 0.0) - (self.sent + self.answered) / 2


async def checks(transport: Transport, prefix: Sequence[str]) -> AsyncIterator[Check]:
    """Round trip first: what does not pass then is not a matter of size."""
    trip = await round_trip(transport, prefix)
    yield trip
    if trip.state != "ok":
        return
    for large in (large_up, large_down):
        yield (check := await large(transport, prefix))
        if check.state == "bad":
            return  # the connection is full of what does not pass
    yield await clock(transport, prefix)


async def round_trip(transport: Transport, prefix: Sequence[str]) -> Check:
    name, times = "link.round-trip", []
    try:
        async with talk(transport, prefix, "exec cat") as talking:
            for number in range(SAMPLES):
                started = time.perf_counter()
                await talking.ask(b"%d\n" % number)
                times.append(time.perf_counter() - started)
    except Silent as error:
        return Check(name, "bad", f"a line did not come back: {error.message}", "Does the login shell run commands?")
    median = statistics.median(times)
    low, high = format_seconds(min(times)), format_seconds(max(times))
    told = f"{format_seconds(median)}, the median of {SAMPLES} ({low} to {high})"
    return Check(name, "ok", told, values={"samples": times, "median": median})


async def large_up(transport: Transport, prefix: Sequence[str]) -> Check:
    started = time.perf_counter()
    try:
        async with talk(transport, prefix, _UP) as talking:
            output = await talking.send_all(os.urandom(LARGE))
    except Silent as error:
        return _stalled("link.large-up", "to the node", error)
    return _passed("link.large-up", "to the node", time.perf_counter() - started, _number(output))


async def large_down(transport: Transport, prefix: Sequence[str]) -> Check:
    started = time.perf_counter()
    try:
        async with talk(transport, prefix, _DOWN) as talking:
            output = await talking.rest()
    except Silent as error:
        return _stalled("link.large-down", "from the node", error)
    return _passed("link.large-down", "from the node", time.perf_counter() - started, len(output))


async def clock(transport: Transport, prefix: Sequence[str]) -> Check:
    trips = []
    try:
        async with talk(transport, prefix, _CLOCK) as talking:
            for _ in range(SAMPLES):
                sent = time.time()
                told = await talking.ask(b"\n")
                trips.append(read_trip(sent, time.time(), told))
    except Silent as error:
        return Check("clock", "unknown", f"the node did not tell its time: {error.message}")
    except ValueError:
        return Check("clock", "unknown", f"`date +%s.%N` said {shown(told)}")
    return skew(trips)


def read_trip(sent: float, answered: float, told: bytes) -> Trip:
    """Read what `date +%s.%N` said; a date that knows no %N prints it as it stands. Raises ValueError."""
    found = _TIME.match(told.strip())
    if not found:
        raise ValueError("not a time")
    return Trip(sent, answered, float(found[0]), whole=b"." not in found[0])


def skew(trips: Sequence[Trip]) -> Check:
    """The trip with the least error decides, as in NTP."""
    best = min(trips, key=lambda trip: trip.error_s)
    values = {"skew": best.skew_s, "error": best.error_s}
    sign = "ahead of" if best.skew_s > 0 else "behind"
    if abs(best.skew_s) <= best.error_s:
        told = f"the node's agrees with ours within {format_seconds(best.error_s)}"
    else:
        told = f"the node's is {format_seconds(abs(best.skew_s))} {sign} ours, ± {format_seconds(best.error_s)}"
    if abs(best.skew_s) - best.error_s > SKEW_S:
        return Check("clock", "warn", told, "Is NTP running on both? Times of logs and of runs differ by this.", values)
    return Check("clock", "ok", told, values=values)


def _stalled(name: str, way: str, error: Silent) -> Check:
    if not error.late:
        return Check(name, "bad", f"64 kB {way} did not arrive: {error.message}", "Try again: is the line steady?")
    return Check(name, "bad", f"64 kB {way} stalled: {error.message}; small messages passed", MTU)


def _passed(name: str, way: str, took_s: float, arrived: int) -> Check:
    values = {"bytes": LARGE, "arrived": arrived, "took": took_s}
    if arrived != LARGE:
        return Check(
            name, "warn", f"64 kB {way}: {arrived} bytes arrived", "Something on the way changes data.", values
        )
    told = f"64 kB {way} in {format_seconds(took_s)}, the start of a command included"
    if took_s > SLOW_S:
        return Check(
            name, "warn", told, "A slow line: logs will lag, and the agent's first upload takes longer.", values
        )
    return Check(name, "ok", told, values=values)


def _number(output: bytes) -> int:
    words = output.split()
    return int(words[-1]) if words and words[-1].isdigit() else -1
