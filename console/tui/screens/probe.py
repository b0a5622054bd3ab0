"""Screen 5: baseline and candidate side by side with the verdict in words; and, by a key, the sweeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.containers import Container, VerticalScroll

from console.state.runs_state import RunsState
from console.tui.screen import ConsoleScreen
from console.tui.text import paragraphs, tone_of
from console.tui.widgets.drawing import Drawing
from console.tui.widgets.number_table import number_table, numbers
from console.tui.widgets.panes import Pane, Panes
from console.tui.widgets.side_by_side import side_by_side
from console.tui.widgets.status import Prose, Status
from console.tui.widgets.sweep_desk import SweepDesk
from console.tui.widgets.table import Column, Row, Table
from console.units import format_percent, format_verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual.app import ComposeResult

    from console.state.model import ConsoleState
    from console.state.runs_state import ComparisonView, DifferenceView
    from console.tui.text import Line

PROBING = ("probe", "runbook")
"""Actions whose narration is a probe's progress."""
NO_RUN = "no run is stored: {probe} measures a running server"


class ProbeScreen(ConsoleScreen):
    """Two stored runs, or the sweeps of the node."""

    NAME = "probe"

    def __init__(self) -> None:
        super().__init__()
        self._walked = ""

    def body(self) -> ComposeResult:
        with Container(id="comparison"):
            yield Status("verdict")
            yield Panes(
                Pane("numbers-pane", "Numbers", number_table()),
                Pane("bars-pane", "Bars", VerticalScroll(Drawing("bars", side_by_side, RunsState()))),
                Pane("differs-pane", "Differs", _difference_table()),
                Pane("notes-pane", "Notes", VerticalScroll(Prose("notes"))),
                Pane("progress-pane", "Progress", Table("progress", Column("said", flex=True))),
                name="probe",
            )
        yield SweepDesk()

    def perform(self, name: str) -> None:
        if name == "probe.sweep":
            self.set_class(not self.has_class("-sweep"), "-sweep")
        elif name == "pane":
            self.query_one("#sweep" if self.has_class("-sweep") else "#probe", Panes).next()
        else:
            super().perform(name)

    def show(self, state: ConsoleState) -> None:
        self._show_comparison(state.runs)
        self._show_progress(state)
        self.query_one(SweepDesk).show(state)
        walked = state.sweep.walked.sweep_id if state.sweep.walked else ""
        if walked and walked != self._walked:
            self.add_class("-sweep")  # who has started one wants to see it
        self._walked = walked

    def _show_comparison(self, runs: RunsState) -> None:
        self.query_one("#verdict", Status).say(paragraphs(self.hinted(_verdict(runs))))
        self.query_one("#numbers", Table).show(list(numbers(runs)), self.table.hint(NO_RUN))
        self.query_one("#bars", Drawing).show(runs)
        found = runs.comparison.differs if runs.comparison else ()
        undeclared = sum(each.withholds for each in found)
        told = f"Differs {len(found)}{f', {undeclared} undeclared' if undeclared else ''}"
        self.query_one("#differs-pane", Pane).retitle(told)
        self.query_one("#differs", Table).show(list(map(_difference, found)), _why_no_differences(runs))
        self.query_one("#notes", Prose).say(paragraphs(_notes(runs)))

    def _show_progress(self, state: ConsoleState) -> None:
        action = state.action
        lines = action.lines if action.id in PROBING else ()
        self.query_one("#progress-pane", Pane).retitle(f"Progress: {action.phase}" if lines else "Progress")
        table = self.query_one("#progress", Table)
        table.show([Row(str(number), (line,)) for number, line in enumerate(lines)], "no probe is running")
        table.move_to(str(len(lines) - 1))


def _difference_table() -> Table:
    return Table(
        "differs",
        Column("key"),
        Column("baseline", flex=True),
        Column("candidate", flex=True),
        Column("declared", 10),
    )


def _verdict(runs: RunsState) -> Iterator[Line | str]:
    found = runs.comparison
    if found is None:
        yield ("no comparison: it takes a run and a run of its baseline ({screen.runs} lists the stored runs)", "dim")
        return
    simulated = "  SIMULATED" if runs.simulated else ""
    yield (f"{format_verdict(found.verdict)}{_spread(found)}{simulated}", tone_of(found.verdict))
    yield _why(found)


def _why(found: ComparisonView) -> str:
    """What stands behind the verdict: what would have been found, or why there is none."""
    if found.verdict == "withheld" or found.detectable is None:
        return found.why
    within = "within noise: " if found.verdict == "cant_tell" else ""
    findable = f"{within}a slowdown of {format_percent(found.detectable)} would have been found"
    return f"{findable}; {found.n[0]} and {found.n[1]} {found.unit}s"


def _spread(found: ComparisonView) -> str:
    if found.difference is None:
        return ""
    between = f" (95 %: {_percents(found.interval)})" if found.interval else ""
    return f"  {format_percent(found.difference, signed=True)}{between}"


def _percents(interval: tuple[float, float]) -> str:
    low, high = (format_percent(each, signed=True) for each in interval)
    return f"{low} to {high}"


def _difference(each: DifferenceView) -> Row:
    word: Line = (
        ("declared", "ok") if each.declared else ("UNDECLARED", "error") if each.withholds else ("inert", "dim")
    )
    return Row(each.key, (each.key, each.a, each.b, word))


def _why_no_differences(runs: RunsState) -> str:
    return "nothing differs" if runs.comparison else "no comparison"


def _notes(runs: RunsState) -> Iterator[Line | str]:
    found = runs.comparison
    sides = [side for side in (runs.baseline, runs.candidate) if side]
    if found:
        yield from filter(None, (found.why, *found.notes))
        if found.steady_interval and found.steady_difference is not None:
            told = format_percent(found.steady_difference, signed=True)
            yield f"steady windows: {told} (95 %: {_percents(found.steady_interval)})"
        yield (found.formula, "dim")
    else:
        for side in sides:
            yield from (*side.marks, *side.notes)
    for formula in dict.fromkeys(side.accept_len_formula for side in sides if side.accept_len_formula):
        yield (f"accept_len = {formula}", "dim")
    for side in sides:
        if side.accept_hist_source:
            yield (f"histogram of {side.run_id}: {side.accept_hist_source}", "dim")


SCREEN = ProbeScreen
