"""The log with everything that is done to it by keys: filter, seek, bookmarks, times, copies."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.actions import SkipAction
from textual.containers import Container
from textual.message import Message
from textual.widgets import Input

from console.errors import ConsoleError, UsageError
from console.logs.choice import Choice, parse_ranks
from console.state.log_state import LogState
from console.tui import log_reach
from console.tui.keys import table_of
from console.tui.messages import LogChoiceAsked
from console.tui.widgets.log_draw import drawn
from console.tui.widgets.log_view import LogView
from console.units import format_bytes, plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from console.logs.marks import MarkKind
    from console.logs.window import Line

PROMPTS = {
    "log.filter": "lines to show, of the whole file: a regular expression, !first for the others. Enter; Escape ends",
    "log.ranks": "ranks to show: 0,2-3 (nothing: all). Lines without a rank stay. Enter",
    "log.time": "time to go to, as the log prints it: 10:02, 10:02:11, 2026-02-20 10:02. Enter",
    "log.save": "local file to write the lines to. Enter",
}
KINDS: dict[str, tuple[MarkKind, str]] = {
    "log.error": ("error", "error"),
    "log.warning": ("warning", "warning"),
    "log.shape": ("shape", "change of a shape"),
    "log.slow": ("slow", "slow-down"),
}
HITS_LIMIT = 10_000
"""Matches shown of the part of the file that is not here; the newest."""


class LogDesk(Container):
    """A prompt, and the log."""

    DEFAULT_CSS = """
    LogDesk { height: 1fr; }
    LogDesk > Input { height: 3; display: none; }
    """

    class Changed(Message):
        """What is looked at changed, or how far a search is."""

    def __init__(self) -> None:
        self.view = LogView("log")
        self._field = Input(id="prompt")
        super().__init__(self._field, self.view)
        self.searching = ""
        """How far the search of the file is."""
        self._log = LogState()
        self._prompt = ""
        self._sought = "log.error"
        self._typed = ""
        """The pattern that n and N look for."""

    def show(self, log: LogState) -> None:
        """Take in what is new."""
        if log.window is not self._log.window:
            self.searching = self._typed = ""
        self._log = log
        self.view.show(log.window, log.marks, log.fold_behind)

    def can_perform(self, name: str) -> bool:
        return name in PROMPTS or name in KINDS or name in self._own

    def perform(self, name: str) -> None:
        """Do what a key names."""
        if name in PROMPTS:
            self._ask(name)
        elif name in KINDS:
            self._sought = name
            self._seek(backward=False)
        else:
            self._own[name](self)

    def back(self) -> None:
        """Escape ends a prompt, then a range, then a filter; without any it means what it means everywhere."""
        if self._field.display:
            self._field.display = False
            self.view.focus()
        elif self.view.range_start is not None:
            self.view.range_start = None
            self.view.changed()
        elif self.view.is_filtered:
            self._choose(Choice())
        else:
            raise SkipAction

    # Prompts

    def _ask(self, name: str) -> None:
        self._prompt = name
        self._field.placeholder = PROMPTS[name]
        self._field.value = self._typed if name == "log.filter" else ""
        self._field.display = True
        self._field.focus()

    @on(Input.Submitted)
    def _answered(self, message: Input.Submitted) -> None:
        message.stop()
        self._field.display = False
        self.view.focus()
        self.answer(self._prompt, message.value)

    def answer(self, prompt: str, typed: str) -> None:
        """Do what a prompt is for, with what was typed; what is wrong with that is said."""
        try:
            self._answer(prompt, typed)
        except ConsoleError as error:
            self._say(error)

    def _answer(self, prompt: str, typed: str) -> None:
        now = self.view.choice
        if prompt == "log.filter":
            self._choose(Choice(typed if typed.strip("!") else "", now.ranks, now.collapse, now.unclaimed))
            self._sought, self._typed = prompt, typed if typed.strip("!") else ""
        elif prompt == "log.ranks":
            self._choose(Choice(now.typed, parse_ranks(typed), now.collapse, now.unclaimed))
        elif typed.strip() and prompt == "log.time":
            self._go_to_time(typed)
        elif typed.strip():
            self._save(typed.strip())

    # What is shown

    def _choose(self, choice: Choice) -> None:
        self.view.choose(choice)
        self.searching = ""
        self._search(choice)

    @work(group="search", exclusive=True)
    async def _search(self, choice: Choice) -> None:
        """Look through what lies before the window, on the node; another choice ends that search there."""
        window, door = self._log.window, self._log.door
        if window is None or not choice.typed or not window.start or window.epoch != window.first_epoch:
            return
        if door is None:
            self.searching = "only what is here is searched"
            return
        try:
            async for part in door.search(choice.typed, window.start, backward=True, limit=HITS_LIMIT):
                done = f"searching {format_bytes(part.searched)} of {format_bytes(part.total)}"
                limited = f"and the newest {HITS_LIMIT:,} of the earlier ones" if part.is_limited else ""
                self.searching = limited if part.is_last else done
                self.view.found(part.lines)
        except ConsoleError as error:
            self.searching = "earlier lines were not searched"
            self._say(error)
        self.view.changed()

    def _toggle(self, name: str) -> None:
        now = self.view.choice
        collapse, unclaimed = now.collapse != (name == "collapse"), now.unclaimed != (name == "unclaimed")
        self._choose(Choice(now.typed, now.ranks, collapse, unclaimed))

    # Going somewhere

    def _seek(self, *, backward: bool) -> None:
        """Go to the next place of the kind that was sought last; among filtered lines, to the next of them."""
        line = self.view.port.current
        if line is None:
            return
        if self._sought == "log.filter":
            if self.view.choice.typed:
                self.view.action_move(-1 if backward else 1)
            elif self._typed:
                self._seek_match(line, backward=backward)
            return
        kind, name = KINDS[self._sought]
        marks = self._log.marks
        at = marks.next(kind, line.offset, backward=backward) if marks else None
        if at is None and self.view.is_following and marks and not backward:
            at = marks.next(kind, line.offset + 1, backward=True)
        if at is None:
            self.notify(f"no {'earlier' if backward else 'later'} {name}{self._uncounted()}", markup=False)
        else:
            self.view.go_to(at)

    def _uncounted(self) -> str:
        behind = self._log.fold_behind + self._log.skipped
        return f" ({format_bytes(behind)} are not read for that)" if behind else ""

    @work(group="seek", exclusive=True)
    async def _seek_match(self, line: Line, *, backward: bool) -> None:
        try:
            at = await log_reach.match(self._log.door, self.view.port.live, self._typed, line, backward=backward)
        except ConsoleError as error:
            self._say(error)
            return
        if at is None:
            self.notify(f"no {'earlier' if backward else 'later'} match of {plain(self._typed)}", markup=False)
        else:
            self.view.go_to(at)

    @on(LogView.Changed)
    def _changed(self, message: LogView.Changed) -> None:
        # Textual ends a message at its sender, and that is who runs now: this widget, when a prompt was answered.
        message.stop()
        self.post_message(self.Changed())

    @on(LogView.Wants)
    def _wanted(self, message: LogView.Wants) -> None:
        message.stop()
        self._fetch(message.where)

    @work(group="fetch", exclusive=True)
    async def _fetch(self, where: str | int) -> None:
        """Bring the part of the file that the view has come to."""
        door, port = self._log.door, self.view.port
        rows = port.held
        if door is None or (rows is None and isinstance(where, str)):
            return
        try:
            if isinstance(where, int):
                port.open_elsewhere(await log_reach.region(door, where, port.live.epoch), where)
            elif where == "before" and rows is not None:
                begin = max(0, rows.start - log_reach.REGION)
                port.joined("before", begin, await door.read(begin, rows.start - begin))
            elif rows is not None:
                end = rows.end
                port.joined("after", end, await door.read(end, log_reach.REGION))
        except ConsoleError as error:
            self._say(error)
        self.view.changed()

    @work(group="seek", exclusive=True)
    async def _go_to_time(self, typed: str) -> None:
        try:
            if self._log.door is None:
                raise UsageError("there is no connection to look through the file", "Try again when there is one.")
            self.view.go_to(await log_reach.time(self._log.door, self._log.size, typed))
        except ConsoleError as error:
            self._say(error)

    def _to_bookmark(self) -> None:
        """The next bookmark behind the cursor; behind the last one the first."""
        here, places = self.view.place, sorted(self.view.bookmarks)
        if here is None or not places:
            self.notify(self._hint("no bookmark: {log.bookmark} makes one"), markup=False)
            return
        epoch, offset = next((place for place in places if place > here), places[0])
        self.view.go_to(offset, epoch)

    # Taking something along

    def _copy(self) -> None:
        line = self.view.port.current
        if line is not None:
            self.app.copy_to_clipboard(
                line.note or log_reach.told(line.raw) if not line.is_cut else drawn(line.raw).text
            )
            self.notify("the line is copied", markup=False)

    def _begin_range(self) -> None:
        self.view.port.hold()
        self.view.range_start = self.view.port.current
        self.view.changed()

    @work(group="save", exclusive=True)
    async def _save(self, path: str) -> None:
        view, first, last = self.view, self.view.range_start, self.view.port.current
        try:
            if view.port.chosen is not None:
                lines = [log_reach.told(line.raw) for line in view.port.chosen.lines()]
            elif first is None or last is None:
                raise UsageError(
                    self._hint("no range: {log.range} says where it begins"),
                    self._hint("Go to its end, then {log.save}."),
                )
            else:
                lines = await log_reach.lines_between(self._log.door, view.port.live, first, last)
            count = await asyncio.to_thread(log_reach.save, path, lines)
        except ConsoleError as error:
            self._say(error)
        else:
            self.notify(plain(f"{count:,} lines are in {path}"), markup=False)

    def _hint(self, text: str) -> str:
        return table_of(self.app).hint(text)

    def _say(self, error: ConsoleError) -> None:
        self.notify(plain(f"{error.message} {error.hint}".strip()), severity="warning", markup=False)

    _own: ClassVar[dict[str, Callable[[LogDesk], object]]] = {
        "log.follow": lambda desk: desk.view.toggle_following(),
        "log.next": lambda desk: desk._seek(backward=False),
        "log.previous": lambda desk: desk._seek(backward=True),
        "log.collapse": lambda desk: desk._toggle("collapse"),
        "log.unclaimed": lambda desk: desk._toggle("unclaimed"),
        "log.wrap": lambda desk: desk.view.toggle_wrap(),
        "log.bookmark": lambda desk: desk.view.toggle_bookmark(),
        "log.to_bookmark": _to_bookmark,
        "log.copy": _copy,
        "log.range": _begin_range,
        "log.open": lambda desk: desk.post_message(LogChoiceAsked()),
    }
