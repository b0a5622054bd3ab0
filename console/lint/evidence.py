"""The lines of a log that a finding rests on, quoted with their place in the file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from console.logs.highlight import without_secrets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.lint.finding import Finding
    from console.logs.record import Record
    from console.logs.stats import DecodeWindow

LINES_LIMIT = 4
LINE_LENGTH = 300


def rank_name(number: int | None) -> str:
    """A rank for a sentence."""
    return "a rank" if number is None else f"rank {number}"


def quoting(finding: Finding, *records: Record) -> Finding:
    """The finding with the first lines of its evidence, each `byte 1234: text`, secrets masked."""
    return _with(finding, [(record.offset, without_secrets(record.text).strip()) for record in records])


def quoting_windows(finding: Finding, windows: Sequence[DecodeWindow]) -> Finding:
    """The finding with what `Decode batch` lines said."""
    return _with(finding, [(each.offset, _window(each)) for each in windows])


def _with(finding: Finding, lines: list[tuple[int, str]]) -> Finding:
    if not lines:
        return finding
    told = [f"byte {offset}: {_short(text)}" for offset, text in lines[:LINES_LIMIT]]
    if len(lines) > LINES_LIMIT:
        told.append(f"and {len(lines) - LINES_LIMIT} more")
    message = without_secrets(finding.message)
    return replace(finding, message=message, evidence="\n".join(told), offset=lines[0][0])


def _short(text: str) -> str:
    return text if len(text) <= LINE_LENGTH else text[:LINE_LENGTH] + "…"


def _window(window: DecodeWindow) -> str:
    parts = [("#running-req", window.running_req), ("accept len", window.accept_len)]
    parts += [("accept rate", window.accept_rate), ("gen throughput", window.gen_throughput)]
    return "Decode batch, " + ", ".join(f"{name}: {value}" for name, value in parts if value is not None)
