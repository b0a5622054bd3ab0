"""A state as something that can be compared: the log by its rows and marks, not by the objects that hold them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from console.logs.marks import KINDS
from console.state.log_state import LogState
from console.state.model import ConsoleState, ReplayState
from console.state.recording import Reader, Writer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from console.state.events import Event


def content(state: ConsoleState) -> tuple[ConsoleState, LogState, list[Any], dict[str, list[int]]]:
    """Everything of a state but the door to the node's file, and that it is a replay."""
    log, window, marks = state.log, state.log.window, state.log.marks
    rows = list(window.lines(window.first_row, window.end_row)) if window else []
    found = {kind: list(marks[kind]) for kind in KINDS} if marks else {}
    return (
        replace(state, log=LogState(), replay=ReplayState()),
        replace(log, window=None, marks=None, door=None),
        [(line.epoch, line.offset, line.raw, line.note) for _row, line in rows],
        found,
    )


def written(events: Iterable[Event], every_s: float = 5.0) -> list[bytes]:
    """The lines of a recording of these events, one each `every_s`."""
    writer = Writer()
    lines = [writer.header({"node": "n"})]
    t = 0.0
    for event in events:
        lines += writer.lines(t, event)
        t += every_s
    lines += writer.end(t)
    return [line.encode("ascii") + b"\n" for line in lines]


def read(lines: Iterable[bytes]) -> list[Event]:
    """The events of a recording's lines."""
    reader = Reader()
    first, *rest = lines
    reader.header(first)
    return [row.event for row in map(reader.read, rest) if row.event is not None]
