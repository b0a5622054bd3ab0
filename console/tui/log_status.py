"""The words around a log: how its reading stands, what the view leaves out, the path of the captured states."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.state.server_phase import log_phase
from console.tui.text import tone_of
from console.units import format_bytes, format_number, format_rate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.logs.flow import Flow
    from console.logs.reading import LogReading
    from console.state.log_state import LogState
    from console.state.model import ConsoleState
    from console.tui.text import Line
    from console.tui.widgets.log_view import LogView

SAID_BEHIND = 256 * 1024
"""Bytes behind the file's end from which it is said."""


def status(state: ConsoleState, view: LogView, searching: str) -> Iterator[Line | str]:
    """One line: where the server stands, where the view stands, what is missing."""
    log = state.log
    if log.window is None:
        yield (
            "No server of yours was launched on this node yet: {launch} launches one, {log.open} opens a log file.",
            "dim",
        )
        return
    if phase := log_phase(state):
        yield (phase.name, tone_of(phase.name))
        yield f" {phase.detail}  " if phase.detail else "  "
    yield ("following", "ok") if view.is_following else (f"held, +{view.unseen:,} new (G follows)", "warn")
    yield "  "
    yield from _choice(view, searching)
    yield from _wanting(log)
    if log.reading:
        yield from _counts(log.reading)
    yield (log.path, "dim")


def _choice(view: LogView, searching: str) -> Iterator[Line | str]:
    if not view.is_filtered:
        return
    choice = view.choice
    ranks = f"ranks {','.join(map(str, sorted(choice.ranks)))}" if choice.ranks else ""
    parts = (choice.typed, ranks, "unclaimed" if choice.unclaimed else "", "ranks as one" if choice.collapse else "")
    yield (f"only {', '.join(filter(None, parts))}: {view.row_count:,}  ", "accent")
    if searching:
        yield (f"{searching}  ", "warn")


def _wanting(log: LogState) -> Iterator[Line | str]:
    """What has not been taken in."""
    if log.behind_bytes > SAID_BEHIND:
        yield (f"{format_bytes(log.behind_bytes)} behind  ", "warn")
    if log.fold_behind > SAID_BEHIND:
        yield (f"{format_bytes(log.fold_behind)} not counted yet  ", "warn")
    if log.skipped:
        yield (f"{format_bytes(log.skipped)} in the middle not counted  ", "warn")
    elif log.reading and log.reading.missed_bytes:
        yield (f"{format_bytes(log.reading.missed_bytes)} missed  ", "error")
    if log.problem:
        yield (f"{log.problem}  ", "error")


def _counts(reading: LogReading) -> Iterator[Line | str]:
    yield f"{reading.records:,} records  "
    yield (f"{reading.unclaimed:,} unclaimed  ", "warn" if reading.unclaimed else "dim")
    last = reading.last_at_batch_1
    if last:
        length = f", accept len {format_number(last.accept_len)}" if last.accept_len is not None else ""
        yield f"{format_rate(last.gen_throughput)}{length}  "


def flow_lines(found: Flow, *, is_narrow: bool) -> Iterator[Line | str]:
    """The path of the captured states with the widths on its arrows, and below it what is wrong."""
    names = [stage.site.partition(".")[2] if is_narrow else stage.site for stage in found.stages]
    yield (names[0], tone_of(found.stages[0].state))
    for arrow, name, stage in zip(found.arrows, names[1:], found.stages[1:], strict=True):
        mark = " WRONG" if arrow.state == "wrong" else ""
        yield (f" ─{arrow.text}{mark}▶ ", tone_of(arrow.state) or "dim")
        yield (name, tone_of(stage.state))
    yield (f" ─{found.stages[-1].passes}▶", tone_of(found.stages[-1].state) or "dim")


def flow_trouble(found: Flow) -> Line:
    """What is wrong on the path; empty when nothing is."""
    said = [(stage.state, stage.sentence) for stage in found.stages]
    said += [(arrow.state, arrow.sentence) for arrow in found.arrows]
    wrong = dict.fromkeys(sentence for state, sentence in said if state == "wrong")
    return ("; ".join(wrong), "error")
