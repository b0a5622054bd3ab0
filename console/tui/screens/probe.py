"""Screen 5: baseline and candidate side by side, the verdict, and everything in which they differ."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from textual.containers import VerticalScroll
from textual.widgets import Static

from console.tui.screen import ConsoleScreen
from console.tui.text import bar, paragraphs, tone_of
from console.tui.widgets.panes import Pane, Panes
from console.tui.widgets.status import Status
from console.tui.widgets.table import Column, Row, Table
from console.units import NONE, format_number, format_percent, format_rate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from textual.app import ComposeResult

    from console.state.model import ComparisonView, ConsoleState, DifferenceView, RunsState, RunView
    from console.tui.text import Line

BAR_WIDTH = 12
PROBING = ("probe", "runbook")
"""Actions whose narration is a probe's progress."""


class ProbeScreen(ConsoleScreen):
    """Two stored runs."""

    NAME = "probe"

    def body(self) -> ComposeResult:
        yield Status("verdict")
        yield Panes(
            Pane("numbers-pane", "Numbers", _number_table()),
            Pane("differs-pane", "Differs", _difference_table()),
            Pane("notes-pane", "Notes", VerticalScroll(Static(markup=False, id="notes"))),
            Pane("progress-pane", "Progress", Table("progress", Column("said", flex=True))),
            name="probe",
        )

    def show(self, state: ConsoleState) -> None:
        runs = state.runs
        self.query_one("#verdict", Status).say(paragraphs(_verdict(runs)))
        self.query_one("#numbers", Table).show(list(_numbers(runs)), "no run is stored: B measures a running server")
        found = runs.comparison.differs if runs.comparison else ()
        undeclared = sum(each.withholds for each in found)
        told = f"Differs {len(found)}{f', {undeclared} undeclared' if undeclared else ''}"
        self.query_one("#differs-pane", Pane).retitle(told)
        self.query_one("#differs", Table).show(list(map(_difference, found)), _why_no_differences(runs))
        self.query_one("#notes", Static).update(paragraphs(_notes(runs)))
        self._show_progress(state)

    def _show_progress(self, state: ConsoleState) -> None:
        action = state.action
        lines = action.lines if action.id in PROBING else ()
        self.query_one("#progress-pane", Pane).retitle(f"Progress: {action.phase}" if lines else "Progress")
        table = self.query_one("#progress", Table)
        table.show([Row(str(number), (line,)) for number, line in enumerate(lines)], "no probe is running")
        table.move_to(str(len(lines) - 1))


def _number_table() -> Table:
    return Table(
        "numbers",
        Column("measured", 15),
        Column("baseline", flex=True),
        Column("candidate", flex=True),
        Column("difference", 10, right=True),
    )


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
        yield ("no comparison: it takes a run and a run of its baseline (6 lists the stored runs)", "dim")
        return
    yield (f"{found.verdict.replace('_', ' ')}{_spread(found)}", tone_of(found.verdict))
    yield found.why or _detectable(found)


def _spread(found: ComparisonView) -> str:
    if found.difference is None:
        return ""
    between = ""
    if found.interval:
        low, high = (format_percent(each, signed=True) for each in found.interval)
        between = f" (95 %: {low} to {high})"
    return f"  {format_percent(found.difference, signed=True)}{between}"


def _detectable(found: ComparisonView) -> str:
    return "" if found.detectable is None else f"a slowdown of {format_percent(found.detectable)} would have been found"


def _numbers(runs: RunsState) -> Iterator[Row]:
    sides = (runs.baseline, runs.candidate)
    if not any(sides):
        return
    for title, told in _ROWS:
        yield Row(title, ((title, "dim"), *(told(side) if side else NONE for side in sides), _relative(title, runs)))
    if runs.comparison:
        needed = format_number(runs.comparison.break_even_accept_len)
        yield Row("break-even", (("break-even len", "dim"), NONE, needed, ""))
    yield from _histogram(runs)


def _histogram(runs: RunsState) -> Iterator[Row]:
    """Verifications by accepted drafts, as bars that share one scale on each side."""
    sides = (runs.baseline, runs.candidate)
    longest = max((len(side.accept_hist) for side in sides if side), default=0)
    for accepted in range(longest):
        cells = (_bar(side.accept_hist, accepted) if side else NONE for side in sides)
        yield Row(f"hist {accepted}", ((f"accepted {accepted}", "dim"), *cells, ""))


def _bar(counts: tuple[int, ...], index: int) -> Line:
    if index >= len(counts):
        return (NONE, "dim")
    return (f"{counts[index]:>4} {bar(counts[index], max(counts), BAR_WIDTH)}", "accent")


def _told_run(run: RunView) -> Line:
    return (f"{run.run_id}{' SIMULATED' if run.simulated else ''}", "warn" if run.simulated else "")


def _told_valid(run: RunView) -> Line:
    return ("valid", "ok") if run.valid else (f"INVALID: {run.why}", "error")


_ROWS: tuple[tuple[str, Callable[[RunView], Line | str]], ...] = (
    ("profile", lambda run: run.profile or NONE),
    ("run", _told_run),
    ("at", lambda run: time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(run.at))),
    ("valid", _told_valid),
    ("output", lambda run: (format_rate(run.output_tok_s), "head")),
    ("decode", lambda run: format_rate(run.decode_tok_s)),
    ("ttft", lambda run: _ms(run.ttft_ms)),
    ("tpot", lambda run: _ms(run.tpot_ms)),
    ("accept len", lambda run: (format_number(run.accept_len, 4), "head")),
    ("cycle", lambda run: _ms(run.cycle_ms)),
    ("per token", lambda run: _ms(run.step_ms)),
    ("blocks", lambda run: " ".join(f"{block:.1f}" for block in run.blocks) or NONE),
    ("requests", lambda run: f"{run.requests} ({run.completion_tokens} tokens)"),
)
_FIELDS = {
    "output": "output_tok_s",
    "decode": "decode_tok_s",
    "ttft": "ttft_ms",
    "tpot": "tpot_ms",
    "accept len": "accept_len",
    "cycle": "cycle_ms",
    "per token": "step_ms",
}


def _relative(title: str, runs: RunsState) -> str:
    if title not in _FIELDS or not (runs.baseline and runs.candidate):
        return ""
    a, b = (getattr(side, _FIELDS[title]) for side in (runs.baseline, runs.candidate))
    return format_percent(b / a - 1, signed=True) if a and b else ""


def _ms(value: float | None) -> str:
    return NONE if value is None else f"{value:.2f} ms"


def _difference(each: DifferenceView) -> Row:
    word: Line = (
        ("declared", "ok") if each.declared else ("UNDECLARED", "error") if each.withholds else ("inert", "dim")
    )
    return Row(each.key, (each.key, each.a, each.b, word))


def _why_no_differences(runs: RunsState) -> str:
    return "nothing differs" if runs.comparison else "no comparison"


def _notes(runs: RunsState) -> Iterator[Line | str]:
    if runs.comparison:
        yield runs.comparison.why
        yield from runs.comparison.notes
        yield (runs.comparison.formula, "dim")
    else:
        for side in filter(None, (runs.baseline, runs.candidate)):
            yield from (*side.marks, *side.notes)
    for side in filter(None, (runs.baseline, runs.candidate)):
        if side.accept_hist_source:
            yield (f"histogram of {side.run_id}: {side.accept_hist_source}", "dim")


SCREEN = ProbeScreen
