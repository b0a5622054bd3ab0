"""A line to its records: split at heads and markers, each part claimed by at most one parser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from console import registry
from console.logs import parsers
from console.logs.parser import START_LENGTH
from console.logs.parts import parts
from console.logs.record import BLANK, GAP_KIND, NO_FIELDS, NO_RANKS, UNCLAIMED, Record
from console.logs.split import GAP

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from console.logs.parser import Parser
    from console.logs.split import RawLine

MARKER_LENGTH = 40
"""Characters in which a marker must end."""

PARSERS: tuple[Parser, ...] = tuple(module.PARSER for module in registry.modules(parsers).values())


@dataclass(frozen=True, slots=True)
class Dispatch:
    """Which parsers to try on a message. A look-up and a few substring searches are far cheaper than patterns."""

    by_marker: Mapping[str, Parser]
    by_start: Mapping[str, tuple[Parser, ...]]
    by_hint: tuple[tuple[str, tuple[Parser, ...]], ...]


def dispatch(chosen: Iterable[Parser]) -> Dispatch:
    """Index parsers by what their messages begin with and hold."""
    by_marker: dict[str, Parser] = {}
    by_start: dict[str, tuple[Parser, ...]] = {}
    by_hint: dict[str, tuple[Parser, ...]] = {}
    for parser in chosen:
        if parser.marker:
            by_marker[parser.marker] = parser
        for start in {start[:START_LENGTH] for start in parser.starts}:
            by_start[start] = (*by_start.get(start, ()), parser)
        for hint in parser.hints:
            by_hint[hint] = (*by_hint.get(hint, ()), parser)
    return Dispatch(by_marker, by_start, tuple(by_hint.items()))


_DISPATCH = dispatch(PARSERS)


def classify(line: RawLine, table: Dispatch = _DISPATCH) -> tuple[Record, ...]:
    """Return the records of a line, one or more, whose texts join to the line's. Never raises."""
    return tuple(classify_all((line,), table))


def classify_all(lines: Iterable[RawLine], table: Dispatch = _DISPATCH) -> list[Record]:
    """Return the records of many lines, and of the gaps between them."""
    records: list[Record] = []
    marked = table.by_marker.get
    for line in lines:
        text = line.text
        marker_ends = text.find("] ", 0, MARKER_LENGTH) + 2
        parser = marked(text[:marker_ends])
        # A second record in the line, or a head, would begin with a bracket.
        if parser is not None and text.find("[", marker_ends) < 0 and (fields := _read(parser, text)) is not None:
            records.append(Record(parser.kind, line.offset, text, None, NO_RANKS, fields))
        elif line.end == GAP:
            records += gap(line)
        else:
            for part, ts, ranks, message in parts(text):
                kind, fields = _claim(message, table)
                records.append(Record(kind, line.offset, part, ts, ranks, fields))
    return records


def gap(line: RawLine) -> tuple[Record]:
    """The record of a place where the log began anew, or where bytes of it are missing: no line of the log itself."""
    fields = {"reason": line.text, "lost_bytes": line.length}
    return (Record(GAP_KIND, line.offset, f"--- {line.text} ---", fields=fields),)


Claim = tuple[str, "Mapping[str, object]"]


def _claim(message: str, table: Dispatch) -> Claim:
    if (chosen := table.by_start.get(message[:START_LENGTH])) and (claim := _first(chosen, message)):
        return claim
    for hint, chosen in table.by_hint:
        if hint in message and (claim := _first(chosen, message)):
            return claim
    return (BLANK if not message or message.isspace() else UNCLAIMED), NO_FIELDS


def _read(parser: Parser, text: str) -> Mapping[str, object] | None:
    try:
        return parser.parse(text)
    except Exception:  # noqa: BLE001 - the line is taken apart then, and the failure is told there
        return None


def _first(chosen: tuple[Parser, ...], message: str) -> Claim | None:
    for parser in chosen:
        try:
            fields = parser.parse(message)
        except Exception as error:  # noqa: BLE001 - no line of a log may stop the console: it is counted and shown instead
            return UNCLAIMED, {"parser": parser.kind, "error": f"{type(error).__name__}: {error}"}
        if fields is not None:
            return parser.kind, fields
    return None
