"""The recording that is shown in place of a node: how far it is, as a slice and as what happens to it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReplayState:
    """The recording that is shown; `source` is empty on a real node."""

    source: str = ""
    at_s: float = 0.0
    """Seconds of the recording that were shown."""
    ended: str = ""
    """Where it ended, and how; empty while it goes on."""


@dataclass(frozen=True, slots=True)
class ReplayMoved:
    """A recording is shown as far as this; never part of a recording itself."""

    source: str
    at_s: float
    ended: str = ""
