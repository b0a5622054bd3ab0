"""Screen 2: the raw log with its shape lines brought out, beside the shape table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.actions import SkipAction
from textual.containers import Container
from textual.widgets import Input

from console.actions.judging import judge_of
from console.logs.record import UNCLAIMED
from console.tui.screen import ConsoleScreen
from console.tui.text import content, tone_of
from console.tui.widgets.log_view import LogView
from console.tui.widgets.panes import Pane
from console.tui.widgets.status import Status
from console.tui.widgets.table import Column, Row, Table
from console.units import NONE, format_bytes, format_number, format_rate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from console.logs.history import LogHistory
    from console.logs.shapes import ShapeRow
    from console.state.model import ConsoleState, LogState
    from console.tui.text import Line
    from console.wiring.widths import Verdict

SAID_BEHIND = 256 * 1024
"""Bytes behind the file's end from which it is said."""


class LogsScreen(ConsoleScreen):
    """The newest server's log."""

    NAME = "logs"
    BINDINGS: ClassVar[list[BindingType]] = [("escape", "unfilter", "No filter")]

    def body(self) -> ComposeResult:
        yield Status("log-status")
        yield Input(placeholder="text to show, !text to hide, Enter; Escape ends", id="filter")
        yield Container(
            Pane("log-pane", "Log", LogView("log")),
            Pane("shapes-pane", "Shapes", _shape_table(), short=True),
            id="logs",
            classes="stacked",
        )

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one("#filter").display = False
        self.query_one(LogView).focus()

    def show(self, state: ConsoleState) -> None:
        log = state.log
        self.query_one(LogView).show(log.history)
        self._show_status()
        self._show_shapes(log)

    def perform(self, name: str) -> None:
        view = self.query_one(LogView)
        match name:
            case "log.filter":
                field = self.query_one("#filter", Input)
                field.display = True
                field.focus()
            case "log.drift":
                view.set_filter(view.filter, drift_only=not view.drift_only)
            case "log.follow":
                view.toggle_following()
            case _:
                super().perform(name)

    def action_unfilter(self) -> None:
        """Escape ends a filter first; without one it means what it means everywhere."""
        view, field = self.query_one(LogView), self.query_one("#filter", Input)
        if field.display or view.is_filtered:
            field.display = False
            field.value = ""
            view.set_filter("")
            view.focus()
        else:
            raise SkipAction

    @on(Input.Submitted, "#filter")
    def _filter(self, message: Input.Submitted) -> None:
        message.stop()
        view = self.query_one(LogView)
        view.set_filter(message.value, view.drift_only)
        message.input.display = False
        view.focus()

    @on(LogView.Changed)
    def _show_status(self) -> None:
        self.query_one("#log-status", Status).say(content(*_status(self._known.log, self.query_one(LogView))))

    def _show_shapes(self, log: LogState) -> None:
        table = self.query_one("#shapes", Table)
        pane = self.query_one("#shapes-pane", Pane)
        if log.history is None:
            table.show((), "no server's log is followed")
            return
        judge = judge_of(log.record)
        rows = [(row, judge(row)) for row in log.history.shapes.rows()]
        wrong = sum(verdict.state == "wrong" for _row, verdict in rows)
        pane.retitle(f"Shapes {len(rows)}{f', {wrong} WRONG' if wrong else ''}{_left_out(log.history)}")
        table.show([_shape(*each) for each in rows], "no shape line yet: patch applied, EAGLE3_DEBUG=1, graphs off?")


def _shape_table() -> Table:
    return Table(
        "shapes",
        Column("site"),
        Column("model", from_width=100),
        Column("mode"),
        Column("ranks"),
        Column("shape"),
        Column("verdict"),
        Column("count", right=True, from_width=90),
        Column("dtype", from_width=120),
        Column("why", flex=True, from_width=100),
    )


def _shape(row: ShapeRow, verdict: Verdict) -> Row:
    shape = json.dumps(row.shape).replace("null", "*").replace(" ", "")
    place = tuple(cell or NONE for cell in (row.site, row.model, row.mode, row.ranks))
    told: Line = (verdict.state, tone_of(verdict.state))
    rest = (str(row.count), row.dtype or NONE, verdict.sentence)
    return Row(f"{' '.join(place)} {shape}", (*place, shape, told, *rest))


def _left_out(history: LogHistory) -> str:
    return f" ({history.shapes.left_out} lines left out)" if history.shapes.left_out else ""


def _status(log: LogState, view: LogView) -> Iterator[Line | str]:
    history = log.history
    if history is None:
        yield ("No server of yours was launched on this node yet: L launches one.", "dim")
        return
    yield (history.phase.name, tone_of(history.phase.name))
    yield f" {history.phase.detail}  " if history.phase.detail else "  "
    yield ("following", "ok") if view.is_following else (f"held, +{view.unseen:,} new (G follows)", "warn")
    yield f"  {sum(history.counts.values()):,} records  "
    unclaimed = history.counts[UNCLAIMED]
    yield (f"{unclaimed:,} unclaimed  ", "warn" if unclaimed else "dim")
    yield from _wanting(log, view)
    yield from _speed(history)
    yield (log.path, "dim")


def _wanting(log: LogState, view: LogView) -> Iterator[Line | str]:
    """What the view leaves out, and what it has not got yet."""
    if view.is_filtered:
        kinds = " and ".join(filter(None, (view.filter, "unclaimed" if view.drift_only else "")))
        yield (f"only {kinds}: {view.row_count:,}  ", "accent")
    if log.behind_bytes > SAID_BEHIND:
        yield (f"{format_bytes(log.behind_bytes)} behind  ", "warn")
    if log.history and log.history.missed_bytes:
        yield (f"{format_bytes(log.history.missed_bytes)} missed  ", "error")
    if log.problem:
        yield (f"{log.problem}  ", "error")


def _speed(history: LogHistory) -> Iterator[Line | str]:
    last = history.stats.last_at_batch_1()
    if last:
        length = f", accept len {format_number(last.accept_len)}" if last.accept_len is not None else ""
        yield f"{format_rate(last.gen_throughput)}{length}  "


SCREEN = LogsScreen
