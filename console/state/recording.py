"""Owns the lines of a recording: a header, the events that were folded, the end. Pure.

    {"recording": "spec-console", "schema": 1, "version": "0.1.0", "node": "demo", …}
    {"t": 0.31, "event": "LinkChanged", "data": {"name": "connected", "reason": ""}}
    {"t": 1.02, "event": "InventoryRead", "data": {…}, "same": ["facts", "holders"]}
    {"t": 1.40, "log": "bytes", "offset": 0, "text": "…"}
    {"t": 9.75, "end": true, "events": 214}

`t` is seconds since the header, by a monotonic clock. `same` names the fields whose values are those of the last event
of that type. Who folds all events has the state that the console had.
"""

from __future__ import annotations

import dataclasses
import json
import typing
from typing import TYPE_CHECKING, Any

from console.launch.secret_text import masked_text
from console.state import events as happened
from console.state.codec import DecodeError, decode, encode, field_types
from console.state.recorded_log import AT_ONCE, LogAgain, LogTap
from console.state.replay_state import ReplayMoved

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from console.state.events import Event

SCHEMA = 1
LINE_LIMIT = 8 * 1024 * 1024
"""Bytes of one line; a longer one is not written, and not read."""
FOLDED_EVERY_S = 2.0
"""Least time between two readings of the log: each holds its whole shape table and all its charts."""
EVENTS = {each.__name__: each for each in typing.get_args(happened.Event) if each is not ReplayMoved}
"""What can be in a recording, by name."""
_NOT_DATA = frozenset({"window", "marks", "door"})


class Writer:
    """Events in, lines out. `known`: secrets by their values; others are found by names and forms."""

    def __init__(self, known: Sequence[str] = ()) -> None:
        self._known = known
        self._last: dict[str, dict[str, str]] = {}
        self._log: LogTap | None = None
        self._folded: happened.LogFolded | None = None
        self._folded_at = -FOLDED_EVERY_S
        self.events = 0

    def header(self, facts: dict[str, Any]) -> str:
        return json.dumps({"recording": "spec-console", "schema": SCHEMA, **facts})

    def lines(self, t: float, event: Event) -> Iterator[str]:
        """The lines of an event that was folded `t` seconds after the header."""
        if isinstance(event, happened.LogFolded):
            self._folded = event
            if t - self._folded_at >= FOLDED_EVERY_S:
                yield from self._pending(t)
            return
        if isinstance(event, happened.LogOpened):
            # What the log before it said last is not seen any more.
            self._folded, self._log = None, LogTap(event.window, event.marks, self._known)
            yield self._line(t, event)
            yield from self._grown(t)
        else:
            yield from self._grown(t)
            yield self._line(t, event)

    def end(self, t: float) -> Iterator[str]:
        """What is held back, and the line that says that nothing is missing."""
        yield from self._grown(t, limit=None)
        yield from self._pending(t)
        yield _row(t, {"end": True, "events": self.events})

    def _grown(self, t: float, limit: int | None = AT_ONCE) -> Iterator[str]:
        if self._log:
            yield from (_row(t, row) for row in self._log.grown(limit))

    def _pending(self, t: float) -> Iterator[str]:
        if self._folded:
            if self._log:
                yield from (_row(t, row) for row in self._log.marked())
            yield self._line(t, self._folded)
            self._folded, self._folded_at = None, t

    def _line(self, t: float, event: Event) -> str:
        name, last = type(event).__name__, self._last.get(type(event).__name__, {})
        values = (each.name for each in dataclasses.fields(event) if each.name not in _NOT_DATA)
        data = {each: json.dumps(encode(getattr(event, each), self._mask)) for each in values}
        self._last[name] = data
        self.events += 1
        same = [each for each, text in data.items() if last.get(each) == text and len(text) > len(each) + 4]
        told = ", ".join(f'"{each}": {text}' for each, text in data.items() if each not in same)
        again = f', "same": {json.dumps(same)}' if same else ""
        return f'{{"t": {t:.3f}, "event": "{name}", "data": {{{told}}}{again}}}'

    def _mask(self, text: str) -> str:
        return masked_text(text, self._known)


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """One line of a recording, read."""

    t: float
    event: Event | None = None
    """None for a row of the log, the end, and what this version does not know."""
    unknown: str = ""
    """The name of an event that this version does not know."""
    is_end: bool = False


class Reader:
    """Lines in, events out; the log's window grows as its rows are read."""

    def __init__(self) -> None:
        self._last: dict[str, dict[str, Any]] = {}
        self._log = LogAgain()
        self._t = 0.0

    def header(self, line: bytes) -> dict[str, Any]:
        """Return what the first line says. Raises DecodeError for what is no recording, or one of a newer console."""
        told = _object(line)
        if told.get("recording") != "spec-console" or type(told.get("schema")) is not int:
            raise DecodeError("this is no recording: its first line is not the header of one")
        if told["schema"] != SCHEMA:
            raise DecodeError(f"the recording has schema {told['schema']}, and this spec-console reads {SCHEMA}")
        return told

    def read(self, line: bytes) -> Row:
        """Return what a line says. Raises DecodeError."""
        told = _object(line)
        t = self._time(told.get("t"))
        if told.get("end") is True:
            return Row(t, is_end=True)
        if "log" in told:
            self._log.take(told)
            return Row(t)
        name = told.get("event")
        if not isinstance(name, str):
            raise DecodeError("neither an event, nor a row of a log, nor the end")
        if name not in EVENTS:
            return Row(t, unknown=name[:60])
        return Row(t, self._event(name, told))

    def _event(self, name: str, told: dict[str, Any]) -> Event:
        kind = EVENTS[name]
        data, last = told.get("data"), self._last.get(name, {})
        same = told.get("same", [])
        if not isinstance(data, dict) or not isinstance(same, list):
            raise DecodeError(f"{name}: no data")
        types = field_types(kind)
        values = {key: decode(types[key], value, f"{name}.{key}") for key, value in data.items() if key in types}
        for each in same:
            if not isinstance(each, str) or each not in last:
                raise DecodeError(f"{name}: {str(each)[:40]!r} was not told before")
            values[each] = last[each]
        self._last[name] = dict(values)
        if kind is happened.LogOpened:
            self._log = LogAgain()
            values |= {"window": self._log.window, "marks": self._log.marks, "door": None}
        needed = {each.name for each in dataclasses.fields(kind) if each.default is dataclasses.MISSING}
        if missing := needed - values.keys():
            raise DecodeError(f"{name}.{min(missing)} is missing")
        return typing.cast("Event", kind(**values))

    def _time(self, t: Any) -> float:
        if type(t) not in (int, float) or not 0 <= t < 1e9:
            raise DecodeError("no time")
        self._t = max(self._t, t)
        return self._t


def _row(t: float, values: dict[str, Any]) -> str:
    return json.dumps({"t": round(t, 3), **values})


def _object(line: bytes) -> dict[str, Any]:
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        raise DecodeError("no JSON") from None
    if not isinstance(told, dict):
        raise DecodeError("no JSON object")
    return told
