"""Screen 6: the stored runs of this node, newest first."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from console.tui.messages import CompareAsked
from console.tui.screen import ConsoleScreen
from console.tui.widgets.panes import Pane
from console.tui.widgets.table import Column, Row, Table
from console.units import NONE, format_number, format_rate

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from console.state.model import ConsoleState
    from console.state.runs_state import RunsState, RunView


class RunsScreen(ConsoleScreen):
    """Every run can be made a side of the comparison on screen 5."""

    NAME = "runs"

    def body(self) -> ComposeResult:
        yield Pane("runs-pane", "Runs", _run_table())

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one("#runs").focus()

    def show(self, state: ConsoleState) -> None:
        runs = state.runs
        self.query_one("#runs-pane", Pane).retitle(f"Runs {len(runs.runs)}")
        rows = [_run(each, _side(each, runs)) for each in runs.runs]
        self.query_one("#runs", Table).show(rows, runs.problem or "no run is stored: B measures a running server")

    def perform(self, name: str) -> None:
        at = self.query_one("#runs", Table).current
        baseline, candidate = (each.run_id if each else None for each in self._sides())
        if name == "runs.baseline" and at:
            self.post_message(CompareAsked(at.key, candidate))
        elif name == "runs.candidate" and at:
            self.post_message(CompareAsked(baseline, at.key))
        else:
            super().perform(name)

    def _sides(self) -> tuple[RunView | None, RunView | None]:
        return self._known.runs.baseline, self._known.runs.candidate


def _run_table() -> Table:
    return Table(
        "runs",
        Column("side", 9),
        Column("at"),
        Column("profile", flex=True),
        Column("output", right=True),
        Column("accept", right=True),
        Column("ttft ms", right=True, from_width=90),
        Column("blocks", right=True, from_width=90),
        Column("valid", from_width=70),
        Column("run", from_width=100),
        Column("origin", from_width=70),
    )


def _run(run: RunView, side: str) -> Row:
    return Row(
        run.run_id,
        (
            (side, "accent"),
            time.strftime("%m-%d %H:%M:%S", time.localtime(run.at)),
            run.profile or NONE,
            format_rate(run.output_tok_s),
            format_number(run.accept_len),
            format_number(run.ttft_ms.mean if run.ttft_ms else None, 1),
            str(len(run.blocks)),
            ("valid", "ok") if run.valid else (f"INVALID: {run.why}", "error"),
            run.run_id,
            ("SIMULATED", "warn") if run.simulated else "measured",
        ),
    )


def _side(run: RunView, runs: RunsState) -> str:
    if runs.baseline and run.run_id == runs.baseline.run_id:
        return "baseline"
    return "candidate" if runs.candidate and run.run_id == runs.candidate.run_id else ""


SCREEN = RunsScreen
