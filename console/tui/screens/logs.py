"""Screen 2: the raw log with its shape lines brought out; beside it the shape table, or charts."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.containers import Container

from console.actions.judging import judge_of
from console.logs.flow import flow
from console.tui.log_status import flow_lines, flow_trouble, status
from console.tui.screen import ConsoleScreen
from console.tui.text import content
from console.tui.widgets.charts import Charts
from console.tui.widgets.log_desk import LogDesk
from console.tui.widgets.panes import Pane
from console.tui.widgets.shape_table import key_of, row_of, said_of, shape_table
from console.tui.widgets.status import Status
from console.tui.widgets.table import Table

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.widget import Widget

    from console.logs.shape_row import ShapeRow
    from console.state.log_state import LogState
    from console.state.model import ConsoleState

VIEWS = ("lines", "shapes", "charts")
NARROW = 120
"""Columns below which the path's sites are named without their model."""


class LogsScreen(ConsoleScreen):
    """The newest server's log, or a file that was asked for."""

    NAME = "logs"
    AUTO_FOCUS = "LogView"
    BINDINGS: ClassVar[list[BindingType]] = [("escape", "back", "No filter")]

    def __init__(self) -> None:
        super().__init__()
        self._at = 0
        self._shown: object = None
        self._wish: tuple[str, int] | None = None

    def body(self) -> ComposeResult:
        yield Status("log-status")
        yield Container(
            Status("flow"),
            Pane("charts-pane", "Charts", Charts("charts")),
            Pane("log-pane", "Log", LogDesk()),
            Pane("shapes-pane", "Shapes", shape_table(), Status("shape-said"), short=True),
            id="logs",
            classes="stacked -lines",
        )

    @property
    def _desk(self) -> LogDesk:
        return self.query_one(LogDesk)

    def show(self, state: ConsoleState) -> None:
        log = state.log
        self._desk.show(log)
        if self._wish and log.run_id == self._wish[0] and log.read_to > self._wish[1]:
            self._desk.view.go_to(self._wish[1])
            self._wish = None
        self._show_status()
        shown = (log.run_id, log.reading, log.record, self.size.width, self._at)
        if shown != self._shown:
            self._shown = shown
            self._show_shapes(log)
            if VIEWS[self._at] == "charts":
                none = "nothing to draw yet: decode lines and cycle records make charts"
                self.query_one(Charts).show(log.reading, none)

    def go_to(self, run_id: str, offset: int, view: str = "lines") -> None:
        """Go to a byte of a server's log, as soon as that is followed and has come so far."""
        self._wish = run_id, offset
        self._look_at(VIEWS.index(view))

    def perform(self, name: str) -> None:
        if name == "log.view":
            self._look_at((self._at + 1) % len(VIEWS))
        elif self._desk.can_perform(name):
            self._show_lines()
            self._desk.perform(name)
        else:
            super().perform(name)

    def perform_with(self, name: str, argument: str) -> None:
        self._show_lines()
        self._desk.answer(name, argument)

    def _show_lines(self) -> None:
        if VIEWS[self._at] != "lines" and not self.has_class("-wide"):
            self._look_at(0)

    def action_back(self) -> None:
        self._desk.back()

    @on(LogDesk.Changed)
    def _show_status(self) -> None:
        self.query_one("#log-status", Status).say(
            content(*self.hinted(status(self._known, self._desk.view, self._desk.searching)))
        )

    def _look_at(self, at: int) -> None:
        self._at = at
        self.query_one("#logs").set_classes(f"stacked -{VIEWS[at]}")
        self.show(self._known)
        seen: tuple[Widget, ...] = (self._desk.view, self.query_one("#shapes", Table), self.query_one(Charts))
        self.call_after_refresh(seen[at].focus)

    # Shapes

    def _rows(self) -> tuple[ShapeRow, ...]:
        reading = self._known.log.reading
        return reading.rows if reading else ()

    def _show_shapes(self, log: LogState) -> None:
        table, pane = self.query_one("#shapes", Table), self.query_one("#shapes-pane", Pane)
        if log.reading is None:
            table.show((), "no log is followed" if log.window is None else "nothing is counted yet")
            return
        judge = judge_of(log.record)
        judged = [(row, judge(row)) for row in log.reading.rows]
        wrong = sum(verdict.state == "wrong" for _row, verdict in judged)
        left_out = f" ({log.reading.left_out} lines left out)" if log.reading.left_out else ""
        pane.retitle(f"Shapes {len(judged)}{f', {wrong} WRONG' if wrong else ''}{left_out}")
        table.show([row_of(*each) for each in judged], "no shape line yet: patch applied, EAGLE3_DEBUG=1, graphs off?")
        self._say_of_row()
        if VIEWS[self._at] == "shapes":
            self._show_flow(log.reading.rows, log)

    def _show_flow(self, rows: tuple[ShapeRow, ...], log: LogState) -> None:
        found = flow(rows, judge_of(log.record))
        path = content(*flow_lines(found, is_narrow=self.size.width < NARROW))
        self.query_one("#flow", Status).say(path.append("\n").append(content(flow_trouble(found))))

    @on(Table.Moved, "#shapes")
    def _say_of_row(self) -> None:
        """Below the table: why the row of the cursor is judged as it is."""
        log, current = self._known.log, self.query_one("#shapes", Table).current
        if log.reading is None or current is None:
            self.query_one("#shape-said", Status).say(content(""))
            return
        judge = judge_of(log.record)
        for row, hint in zip(log.reading.rows, log.reading.hints, strict=True):
            if key_of(row) == current.key:
                self.query_one("#shape-said", Status).say(content(*said_of(row, judge(row), hint)))

    @on(Table.Opened, "#shapes")
    def _to_line(self, message: Table.Opened) -> None:
        """Enter on a shape goes to its raw line: of a rank that differs where there is one."""
        message.stop()
        for row in self._rows():
            if key_of(row) == message.row.key:
                if not self.has_class("-wide"):
                    self._look_at(0)
                self._desk.view.go_to(row.example_offset)
                self.call_after_refresh(self._desk.view.focus)


SCREEN = LogsScreen
