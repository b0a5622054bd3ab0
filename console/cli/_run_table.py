"""Owns the table of `runs list`: a row for each stored run, with what names it and what tells it from the others."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from console.store.labels import RunLabels
from console.units import NONE, format_number, format_rate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from console.probe.stored import StoredRun
    from console.store.journal import Journal

HEAD = ("@N", "RUN", "WHEN", "NODE", "PROFILE", "TOK/S", "ACCEPT_LEN", "MARKS", "SET", "NOTE")


def rows(journal: Journal, runs: Iterable[StoredRun]) -> list[str]:
    """Return the lines: a head, and one for each run; without runs none."""
    labels, numbers, sets = journal.labels(), journal.run_numbers(), _sets(journal)
    found = [
        _cells(run, labels.get(run.run_id, RunLabels()), numbers.get(run.run_id), sets.get(run.run_id, ""))
        for run in runs
    ]
    return list(_aligned([HEAD, *found])) if found else []


def marks(run: StoredRun, labels: RunLabels) -> str:
    """What has to be known before the figures are believed, and what was put on the run."""
    words = ("" if run.result.valid else "INVALID", "SIMULATED" if run.fingerprint.simulated else "")
    return " ".join(filter(None, (*words, "PINNED" if labels.pinned else "", *(f"#{tag}" for tag in labels.tags))))


def when(run: StoredRun) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(run.at))


def _sets(journal: Journal) -> Mapping[str, str]:
    """What the points of sweeps set, by run: three points of a profile differ in nothing else here."""
    points = (point for sweep in journal.list_sweeps() for point in sweep.points)
    return {point.run.run_id: point.label for point in points if point.run}


def _cells(run: StoredRun, labels: RunLabels, number: int | None, was_set: str) -> tuple[str, ...]:
    return (
        NONE if number is None else f"@{number}",
        run.run_id,
        when(run),
        run.node,
        run.profile or NONE,
        format_rate(run.result.output_tok_s),
        format_number(run.result.accept_len),
        marks(run, labels),
        was_set,
        labels.note,
    )


def _aligned(table: list[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    widths[-1] = 0  # a note may be long
    for row in table:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
