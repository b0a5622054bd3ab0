"""Owns the judgement of a link by times alone: how long nothing was heard, and whether this machine itself was away.

A machine that slept, or a console that was stopped, has heard nothing either: that says nothing of the link. The node
is asked anew then, and has a short time to answer: a connection over another network never comes back by waiting.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal

from console.units import format_seconds

HEARTBEAT_S = 5.0
"""Between two looks at the link, and between two pings."""
LOST_AFTER_S = 20.0
"""Of silence."""
AWAY_S = 10.0
"""A look that comes this much too late means that nothing ran here meanwhile."""
ANSWER_S = 5.0
"""For the first sign of life after that."""
SOON_S = 0.5
"""Between two looks until it has come."""


@dataclass(frozen=True, slots=True)
class Moment:
    """Both clocks at once, in seconds: while a machine sleeps `wall` alone goes on; nobody sets `monotonic`."""

    monotonic: float
    wall: float


@dataclass(frozen=True, slots=True)
class Look:
    """How the link stands, why, and in how many seconds to look again."""

    state: Literal["connected", "heartbeat-missed", "lost"]
    why: str = ""
    next_s: float = HEARTBEAT_S


def now() -> Moment:
    """Read the clocks."""
    return Moment(time.monotonic(), time.time())


class Heartbeat:
    """The looks at one connection, the first of them due a heartbeat after `at`."""

    def __init__(self, at: Moment) -> None:
        self._looked = at
        self._due_s = HEARTBEAT_S
        self._woke_at: float | None = None
        self._away_s = 0.0

    def look(self, at: Moment, heard_at: float) -> Look:
        """Judge; `heard_at` is when the last byte came, in monotonic seconds."""
        late_s = max(at.monotonic - self._looked.monotonic, at.wall - self._looked.wall) - self._due_s
        if late_s > AWAY_S:
            self._woke_at, self._away_s = at.monotonic, late_s + self._due_s
        elif self._woke_at is not None and heard_at > self._woke_at:
            self._woke_at = None
        found = self._judge(at.monotonic, heard_at)
        self._looked, self._due_s = at, found.next_s
        return found

    def _judge(self, at: float, heard_at: float) -> Look:
        if self._woke_at is not None:
            away = f"this machine was away for {format_seconds(self._away_s)}"
            if at - self._woke_at >= ANSWER_S:
                return Look("lost", f"{away}, and nothing was heard since")
            return Look("heartbeat-missed", away, min(SOON_S, HEARTBEAT_S))
        silent_s = at - heard_at
        if silent_s > LOST_AFTER_S:
            return Look("lost", f"nothing heard for {silent_s:.0f} s", HEARTBEAT_S)
        if silent_s > 2 * HEARTBEAT_S:
            return Look("heartbeat-missed", f"nothing heard for {silent_s:.0f} s", HEARTBEAT_S)
        return Look("connected", next_s=HEARTBEAT_S)
