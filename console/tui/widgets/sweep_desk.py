"""The sweeps of a node: the points of one as they stand, its chart, its best point, and what it waits for."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from textual import on
from textual.containers import Container

from console.state.events import SweepChosen
from console.tui.keys import table_of
from console.tui.messages import Happened
from console.tui.text import as_line, paragraphs, tone_of
from console.tui.widgets.panes import Pane, Panes
from console.tui.widgets.status import Status
from console.tui.widgets.sweep_chart import SweepChart
from console.tui.widgets.table import Column, Row, Table
from console.units import NONE, format_number, format_rate, format_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.state.model import ConsoleState
    from console.state.sweep_state import BestView, SweepPointView, SweepState, SweepView
    from console.tui.text import Line, Tone

SWEEPING = ("sweep", "resume_sweep")
"""Actions whose narration is a sweep's progress."""
NOTHING = "no sweep is stored: {sweep} sweeps the selected profile over the axes of its `sweep:`"
POINT_TONES: dict[str, Tone] = {"done": "ok", "running": "accent", "failed": "error", "left_out": "warn"}


class SweepDesk(Container):
    """One sweep at a time: the one that is walked here, else the one that the cursor is on."""

    def __init__(self) -> None:
        super().__init__(
            Status("sweep-said"),
            Panes(
                Pane("points-pane", "Points", _point_table()),
                Pane("chart-pane", "Chart", SweepChart("sweep-chart")),
                Pane("sweeps-pane", "Sweeps", _sweep_table()),
                Pane("walk-pane", "Progress", Table("walk", Column("said", flex=True))),
                name="sweep",
            ),
            id="sweep-desk",
        )
        self._in_flight = ""

    def show(self, state: ConsoleState) -> None:
        """Take in what is known now."""
        sweeps = state.sweep
        shown = sweeps.shown
        keys = table_of(self.app)
        said = ((keys.hint(told), tone) for told, tone in map(as_line, _said(shown)))
        self.query_one("#sweep-said", Status).say(paragraphs(said))
        points = shown.points if shown else ()
        best = shown.best.number if shown and shown.best else 0
        table = self.query_one("#points", Table)
        table.show([_point(each, best) for each in points], keys.hint(NOTHING))
        running = next((str(each.number) for each in points if each.state == "running"), "")
        if running != self._in_flight:
            self._in_flight = running
            table.move_to(running)
        told = f"Points {shown.measured}/{len(points)}" if shown else "Points"
        self.query_one("#points-pane", Pane).retitle(told)
        self.query_one(SweepChart).show(shown)
        self._show_stored(sweeps)
        self._show_progress(state)

    def _show_stored(self, sweeps: SweepState) -> None:
        table = self.query_one("#sweeps", Table)
        table.show(list(map(_sweep, sweeps.every)), table_of(self.app).hint(NOTHING))
        if sweeps.shown:
            table.move_to(sweeps.shown.sweep_id)
        self.query_one("#sweeps-pane", Pane).retitle(f"Sweeps {len(sweeps.every)}")

    def _show_progress(self, state: ConsoleState) -> None:
        lines = state.action.lines if state.action.id in SWEEPING else ()
        self.query_one("#walk-pane", Pane).retitle(f"Progress: {state.action.phase}" if lines else "Progress")
        table = self.query_one("#walk", Table)
        table.show([Row(str(number), (line,)) for number, line in enumerate(lines)], "no sweep is running")
        table.move_to(str(len(lines) - 1))

    @on(Table.Moved, "#sweeps")
    def _choose(self, message: Table.Moved) -> None:
        message.stop()
        self.post_message(Happened(SweepChosen(message.key)))


def _point_table() -> Table:
    return Table(
        "points",
        Column("#", right=True),
        Column("set"),
        Column("env"),
        Column("tok/s", right=True),
        Column("95 %"),
        Column("accept", right=True),
        Column("verify ms", right=True, from_width=84),
        Column("verify from", from_width=120),
        Column("took", right=True, from_width=96),
        Column("state", flex=True),
    )


def _sweep_table() -> Table:
    return Table(
        "sweeps",
        Column("planned", 11),
        Column("profile", from_width=70),
        Column("state"),
        Column("points", right=True),
        Column("best", flex=True),
        Column("sweep", from_width=100),
    )


def _point(point: SweepPointView, best: int) -> Row:
    return Row(
        str(point.number),
        (
            f"{'▶' if point.number == best else ''}{point.number}",
            " ".join(f"{name} {value}" for name, value in point.set) if point.kind == "point" else "baseline",
            " ".join(f"{name}={value}" for name, value in point.env),
            (format_number(point.tok_s, 1), "ok" if point.number == best else ""),
            f"{point.interval[0]:.1f}-{point.interval[1]:.1f}" if point.interval else NONE,
            format_number(point.accept_len),
            format_number(point.verify_ms, 1),
            point.verify_why or NONE,
            format_seconds(point.elapsed_s or None),
            (_state(point), POINT_TONES.get(point.state, "dim")),
        ),
    )


def _state(point: SweepPointView) -> str:
    """Its state, and why it is one that nobody wished for."""
    return f"{point.state.replace('_', ' ')}{f': {point.why}' if point.why else ''}"


def _sweep(sweep: SweepView) -> Row:
    best = f"{format_rate(sweep.best.tok_s)} {sweep.best.label}" if sweep.best else NONE
    tones: dict[str, Tone] = {"done": "ok", "running": "accent"}
    return Row(
        sweep.sweep_id,
        (
            time.strftime("%m-%d %H:%M", time.localtime(sweep.at)),
            sweep.profile,
            (sweep.state, tones.get(sweep.state, "warn")),
            f"{sweep.measured}/{len(sweep.points)}",
            best,
            sweep.sweep_id,
        ),
    )


def _said(sweep: SweepView | None) -> Iterator[Line | str]:
    """Four lines: which sweep and how far; the best; how sure that is; what it waits for, or how to go on."""
    if sweep is None:
        yield (NOTHING, "dim")
        return
    yield (f"{'SIMULATED ' if sweep.simulated else ''}{_how_far(sweep)}", "warn" if sweep.simulated else "head")
    if sweep.best:
        yield (_best(sweep.best), "head")
        yield _how_sure(sweep.best)
    else:
        yield from (("no point is measured yet", "dim"), "")
    yield _then(sweep)


def _how_far(sweep: SweepView) -> str:
    told = f"{sweep.profile}: {sweep.state}, {sweep.measured}/{len(sweep.points)}"
    if sweep.elapsed_s is not None:
        told += f", {format_seconds(sweep.elapsed_s)}"
        if sweep.state == "running" and sweep.left_s:
            told += f", about {format_seconds(sweep.left_s)} left"
    return told


def _best(best: BestView) -> str:
    between = f" (95 %: {best.interval[0]:.1f} to {best.interval[1]:.1f})" if best.interval else ""
    return f"best {best.number} {best.label}: {format_rate(best.tok_s)}{between}"


def _how_sure(best: BestView) -> Line:
    told = []
    if best.verdict == "withheld":
        told.append(f"no verdict beside the baseline ({best.why}): {best.against}")
    elif best.verdict:
        verdict = "can't tell it from" if best.verdict == "cant_tell" else f"{best.verdict} than"
        told.append(f"{verdict} the baseline {best.against}")
    if best.cant_tell_from:
        told.append(f"can't tell from {', '.join(map(str, best.cant_tell_from))}")
    return ("; ".join(told), tone_of(best.verdict))


def _then(sweep: SweepView) -> Line:
    if sweep.state == "running" and sweep.elapsed_s is not None:
        return (f"now: {sweep.waits_for}", "accent")
    if not sweep.is_finished:
        why = f" ({sweep.why})" if sweep.why else ""
        left = sum(point.state in ("waiting", "running", "left_out") for point in sweep.points)
        return (f"not finished{why}: {{resume_sweep}} takes it up, {left} points left", "warn")
    if sweep.why:
        return (f"ended early: {sweep.why}", "error")
    return (sweep.drift, "error" if sweep.drifted else "dim")
