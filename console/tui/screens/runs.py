"""Screen 6: the stored runs of this node, newest first: searched, labelled, compared, deleted and brought back."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.actions import SkipAction
from textual.widgets import Input

from console.tui.messages import CompareAsked, RunChangeAsked, RunLogAsked
from console.tui.run_changes import RunChange
from console.tui.screen import ConsoleScreen
from console.tui.text import content
from console.tui.widgets.panes import Pane
from console.tui.widgets.status import Status
from console.tui.widgets.table import Column, Row, Table
from console.units import NONE, format_number, format_rate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from console.state.model import ConsoleState
    from console.state.runs_state import RunsState, RunView
    from console.tui.text import Line

PROMPTS = {
    "runs.search": "words that a run has, in any order; nothing: all runs. Enter; Escape ends",
    "runs.tags": "tags of this run, with blanks between: nightly pr/12. Enter",
    "runs.note": "note on this run; nothing takes it off. Enter",
}
PIN = "◆"


class RunsScreen(ConsoleScreen):
    """Every run can be made a side of the comparison on screen 5."""

    NAME = "runs"
    AUTO_FOCUS = "#runs"
    DEFAULT_CSS = """
    RunsScreen {
        #runs-prompt { height: 3; display: none; }
        #run-said { height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [("escape", "back", "No search")]

    def __init__(self) -> None:
        super().__init__()
        self._prompt = ""
        self._search = ""
        self._marked: list[str] = []

    def body(self) -> ComposeResult:
        yield Input(id="runs-prompt")
        yield Pane("runs-pane", "Runs", _run_table(), Status("run-said"))

    @property
    def _table(self) -> Table:
        return self.query_one("#runs", Table)

    @property
    def _field(self) -> Input:
        return self.query_one("#runs-prompt", Input)

    @property
    def _current(self) -> RunView | None:
        at = self._table.current
        return next((run for run in self._known.runs.runs if at and run.run_id == at.key), None)

    def show(self, state: ConsoleState) -> None:
        runs = state.runs
        found = [each for each in runs.runs if _has_words(each, self._search)]
        sought = f" of {len(runs.runs)} with {self._search}" if self._search else ""
        self.query_one("#runs-pane", Pane).retitle(f"Runs {len(found)}{sought}")
        empty = "no run has these words (Escape: all runs)" if self._search and runs.runs else ""
        none = self.table.hint("no run is stored: {probe} measures a running server")
        self._table.show([_run(each, self._side(each, runs)) for each in found], runs.problem or empty or none)
        self._say_of_run()

    def perform(self, name: str) -> None:
        if name == "runs.search":
            self._ask(name, self._search)
        elif name == "runs.undo":
            self.post_message(RunChangeAsked(RunChange("undelete")))
        elif name in self._own:
            if self._current:
                self._own[name](self, self._current)
        else:
            super().perform(name)

    def perform_with(self, name: str, argument: str) -> None:
        """What stands behind a command: the run that is meant, the words to search, what is to stand on a run."""
        self.show(self._known)
        if name == "runs.search":
            self._search = argument
            self.show(self._known)
        elif name in ("runs.tags", "runs.note"):
            if run := self._current:
                note = RunChange("note", run.run_id, argument)
                tags = RunChange("tags", run.run_id, _tagged(run, argument))
                self.post_message(RunChangeAsked(tags if name == "runs.tags" else note))
        else:
            if argument not in [row.key for row in self._table.rows]:
                self._search = ""
                self.show(self._known)
            self._table.move_to(argument)
            self.perform(name)

    def action_back(self) -> None:
        """Escape ends a prompt, then a search, then marks; without any it means what it means everywhere."""
        if self._field.display:
            self._close()
        elif self._search or self._marked:
            self._search, self._marked = "", []
            self.show(self._known)
        else:
            raise SkipAction

    @on(Table.Moved, "#runs")
    def _say_of_run(self) -> None:
        """Below the table: what stands on the run of the cursor, and what a sweep set for it."""
        run = self._current
        points = (point for sweep in self._known.sweep.every for point in sweep.points)
        was_set = next((point.label for point in points if run and point.run_id == run.run_id), "")
        self.query_one("#run-said", Status).say(content(*(_said(run, was_set) if run else ())))

    # Prompts

    def _ask(self, name: str, value: str) -> None:
        self._prompt = name
        self._field.placeholder = PROMPTS[name]
        self._field.value = value
        self._field.display = True
        self._field.focus()

    def _close(self) -> None:
        self._field.display = False
        self._table.focus()

    @on(Input.Submitted, "#runs-prompt")
    def _answered(self, message: Input.Submitted) -> None:
        message.stop()
        self._close()
        run = self._current
        if self._prompt == "runs.search":
            self._search = message.value.strip()
            self.show(self._known)
        elif run and self._prompt == "runs.tags":
            self.post_message(RunChangeAsked(RunChange("tags", run.run_id, message.value)))
        elif run:
            self.post_message(RunChangeAsked(RunChange("note", run.run_id, message.value)))

    # What a key does to the run of the cursor

    def _as_baseline(self, run: RunView) -> None:
        candidate = self._known.runs.candidate
        self.post_message(CompareAsked(run.run_id, candidate.run_id if candidate else None))

    def _as_candidate(self, run: RunView) -> None:
        baseline = self._known.runs.baseline
        self.post_message(CompareAsked(baseline.run_id if baseline else None, run.run_id))

    def _mark(self, run: RunView) -> None:
        """The second mark compares: the older run is the baseline."""
        if run.run_id in self._marked:
            self._marked.remove(run.run_id)
        else:
            self._marked.append(run.run_id)
        if len(self._marked) == 2:
            newest_first = [each.run_id for each in self._known.runs.runs if each.run_id in self._marked]
            self._marked = []
            if len(newest_first) == 2:
                self.post_message(CompareAsked(newest_first[1], newest_first[0]))
        self.show(self._known)

    def _pin(self, run: RunView) -> None:
        self.post_message(RunChangeAsked(RunChange("unpin" if run.pinned else "pin", run.run_id)))

    def _delete(self, run: RunView) -> None:
        self.post_message(RunChangeAsked(RunChange("delete", run.run_id)))

    def _log(self, run: RunView) -> None:
        self.post_message(RunLogAsked(run.run_id, run.launch_id))

    def _side(self, run: RunView, runs: RunsState) -> str:
        if run.run_id in self._marked:
            return "marked"
        if runs.baseline and run.run_id == runs.baseline.run_id:
            return "baseline"
        return "candidate" if runs.candidate and run.run_id == runs.candidate.run_id else ""

    _own: ClassVar[dict[str, Callable[[RunsScreen, RunView], None]]] = {
        "runs.baseline": _as_baseline,
        "runs.candidate": _as_candidate,
        "runs.mark": _mark,
        "runs.tags": lambda self, run: self._ask("runs.tags", " ".join(run.tags)),
        "runs.note": lambda self, run: self._ask("runs.note", run.note),
        "runs.pin": _pin,
        "runs.log": _log,
        "runs.delete": _delete,
    }


def _tagged(run: RunView, words: str) -> str:
    """The tags of a run with those that are named added, and those behind a minus taken off."""
    named = words.replace(",", " ").split()
    off = {word[1:] for word in named if word.startswith("-")}
    return " ".join(tag for tag in dict.fromkeys((*run.tags, *(w for w in named if w[0] != "-"))) if tag not in off)


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
    words = (PIN if run.pinned else "", run.profile or NONE, *(f"#{tag}" for tag in run.tags))
    return Row(
        run.run_id,
        (
            (side, "accent"),
            time.strftime("%m-%d %H:%M:%S", time.localtime(run.at)),
            " ".join(filter(None, words)),
            format_rate(run.output_tok_s),
            format_number(run.accept_len),
            format_number(run.ttft_ms.mean if run.ttft_ms else None, 1),
            str(len(run.blocks)),
            ("valid", "ok") if run.valid else (f"INVALID: {run.why}", "error"),
            run.run_id,
            ("SIMULATED", "warn") if run.simulated else "measured",
        ),
    )


def _said(run: RunView, was_set: str) -> Iterator[Line | str]:
    if run.pinned:
        yield (f"{PIN} pinned as baseline  ", "accent")
    yield from (f"#{tag}  " for tag in run.tags)
    if run.note:
        yield f"{run.note}  "
    if was_set:
        yield f"{was_set}  "
    yield (run.run_id, "dim")


def _has_words(run: RunView, search: str) -> bool:
    """Every word stands somewhere in what is known of the run here."""
    told = (run.run_id, run.node, run.profile, run.launch_id, run.speculation, run.why, run.note)
    more = ("SIMULATED" if run.simulated else "measured", "pinned" if run.pinned else "", *run.marks, *run.notes)
    text = " ".join((*told, *more, *(f"#{tag}" for tag in run.tags))).casefold()
    return all(word in text for word in search.casefold().split())


SCREEN = RunsScreen
