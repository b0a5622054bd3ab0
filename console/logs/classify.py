"""A line to its records: split at heads and markers, each part claimed by at most one parser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from console import registry
from console.logs import parsers
from console.logs.parser import START_LENGTH
from console.logs.parts import parts
from console.logs.record import BLANK, NO_FIELDS, UNCLAIMED, Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from console.logs.parser import Parser
    from console.logs.split import RawLine

PARSERS: tuple[Parser, ...] = tuple(module.PARSER for module in registry.modules(parsers).values())


@dataclass(frozen=True, slots=True)
class Dispatch:
    """Which parsers to try on a message. A look-up and a few substring searches are far cheaper than patterns."""

    by_start: Mapping[str, tuple[Parser, ...]]
    by_hint: tuple[tuple[str, tuple[Parser, ...]], ...]


def dispatch(chosen: Iterable[Parser]) -> Dispatch:
    """Index parsers by what their messages begin with and hold."""
    by_start: dict[str, tuple[Parser, ...]] = {}
    by_hint: dict[str, tuple[Parser, ...]] = {}
    for parser in chosen:
        for start in {start[:START_LENGTH] for start in parser.starts}:
            by_start[start] = (*by_start.get(start, ()), parser)
        for hint in parser.hints:
            by_hint[hint] = (*by_hint.get(hint, ()), parser)
    return Dispatch(by_start, tuple(by_hint.items()))


_DISPATCH = dispatch(PARSERS)


def classify(line: RawLine, table: Dispatch = _DISPATCH) -> tuple[Record, ...]:
    """Return the records of a line, one or more, whose texts join to the line's. Never raises."""
    records = []
    for part in parts(line.text):
        kind, fields = _claim(part.message, table)
        records.append(Record(kind, line.offset, part.text, part.ts, part.ranks, fields))
    return tuple(records)


Claim = tuple[str, "Mapping[str, object]"]


def _claim(message: str, table: Dispatch) -> Claim:
    if (chosen := table.by_start.get(message[:START_LENGTH])) and (claim := _first(chosen, message)):
        return claim
    for hint, chosen in table.by_hint:
        if hint in message and (claim := _first(chosen, message)):
            return claim
    return (BLANK if not message or message.isspace() else UNCLAIMED), NO_FIELDS


def _first(chosen: tuple[Parser, ...], message: str) -> Claim | None:
    for parser in chosen:
        try:
            fields = parser.parse(message)
        except Exception as error:  # noqa: BLE001 - no line of a log may stop the console: it is counted and shown instead
            return UNCLAIMED, {"parser": parser.kind, "error": f"{type(error).__name__}: {error}"}
        if fields is not None:
            return parser.kind, fields
    return None
