"""Where the sample logs lie, and short ways to read them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from console.logs.classify import classify
from console.logs.history import LogHistory
from console.logs.split import LineSplitter, RawLine

if TYPE_CHECKING:
    from console.logs.record import Record

DATA = Path(__file__).parents[2] / "data" / "logs"
LOGS = tuple(sorted(DATA.glob("*/*.log")))
KINDS = tuple(sorted(DATA.glob("kinds/*.jsonl")))


def lines(data: bytes) -> list[RawLine]:
    splitter = LineSplitter()
    return splitter.feed(0, data) + splitter.finish()


def log_lines(name: str) -> list[RawLine]:
    return lines((DATA / name).read_bytes())


def records(text: str) -> list[Record]:
    return [record for line in lines(text.encode()) for record in classify(line)]


def record(text: str) -> Record:
    (only,) = records(text)
    return only


def history(name: str, tp_size: int | None = None) -> LogHistory:
    kept = LogHistory(tp_size)
    kept.feed(0, (DATA / name).read_bytes())
    kept.finish()
    return kept


def told(text: str) -> LogHistory:
    kept = LogHistory()
    kept.feed(0, text.encode())
    kept.finish()
    return kept


def kind_samples() -> list[tuple[str, dict[str, Any]]]:
    """Return (kind, {line, fields}) of all files of kinds."""
    return [(path.stem, json.loads(line)) for path in KINDS for line in path.read_text("utf-8").splitlines()]
