"""Which log to follow: those that the node tells of, and a path that may be typed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on, work
from textual.containers import Vertical
from textual.widgets import Input

from console.errors import ConsoleError
from console.tui.log_pick import LogPick
from console.tui.modals.dialog import Dialog
from console.tui.text import content
from console.tui.widgets.status import Status
from console.tui.widgets.table import Column, Row, Table
from console.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from textual.app import ComposeResult

    from console.tui.text import Line
    from remote_agent.protocol import LogSource

    Read = Callable[[], Awaitable[Sequence[LogSource]]]

PROMPT = "path of a log file on the node, or one of these"
_NEWEST = Row("", ("newest server", "", "of yours, also those launched later", ""))
_KEYS = "↑ ↓ choose, Enter opens; what is typed goes before. Esc: leave it."


class LogSourceModal(Dialog[LogPick]):
    """Answers what was picked, None when nothing was. `read` asks the node; None when there is no link."""

    def __init__(self, read: Read | None) -> None:
        super().__init__("Open a log", ())
        self._read = read
        self._sources: dict[str, LogSource] = {}
        self._told: Line = ("looking for logs on the node…", "dim")

    def compose(self) -> ComposeResult:
        columns = Column("log"), Column("size", right=True), Column("file", flex=True), Column("said", from_width=90)
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = content(self._title)
            yield Input(placeholder=PROMPT, id="path")
            yield Table("sources", *columns, keeps_cursor=True)
            yield Status("source-said")

    def on_mount(self) -> None:
        self._table.show([_NEWEST])
        if self._read is None:
            self._told = ("not connected: a pick is opened once there is a connection", "warn")
        else:
            self._find(self._read)
        self._say()

    @property
    def _table(self) -> Table:
        return self.query_one("#sources", Table)

    @work(exclusive=True)
    async def _find(self, read: Read) -> None:
        try:
            found = await read()
        except ConsoleError as error:
            self._told = (f"no logs were found: {error.message} {error.hint}".rstrip(), "error")
        else:
            self._sources = {each.path: each for each in found}
            self._told = (f"found: {len(self._sources)}" if found else "no log was found", "dim")
            self._table.show([_NEWEST, *map(_row, self._sources.values())])
        self._say()

    def action_move(self, lines: int) -> None:
        """From the field too."""
        self._table.action_move(lines)

    @on(Table.Moved)
    def _say(self) -> None:
        """Below the table: the whole path of the cursor's row, and why it cannot be followed."""
        current = self._table.current
        source = self._sources.get(current.key) if current else None
        first: Line = (source.path if source else self._told[0], "" if source else self._told[1])
        second: Line = (source.label if source else _KEYS, "dim")
        if source and source.problem:
            first, second = (f"cannot be followed: {source.problem}", "warn"), (source.path, "dim")
        self.query_one("#source-said", Status).say(content(first).append("\n").append(content(second)))

    @on(Input.Submitted)
    def _typed(self, message: Input.Submitted) -> None:
        message.stop()
        if path := message.value.strip():
            self.dismiss(LogPick(path))
        elif self._table.current:
            self._open(self._table.current.key)

    @on(Table.Opened)
    def _opened(self, message: Table.Opened) -> None:
        message.stop()
        self._open(message.row.key)

    def _open(self, key: str) -> None:
        source = self._sources.get(key)
        if source is None:
            self.dismiss(LogPick())
        elif source.problem:
            self.app.bell()  # why is said below the table
        else:
            self.dismiss(LogPick(source.path, source.run_id))


def _row(source: LogSource) -> Row:
    name = f"server {source.run_id}" if source.run_id else f"pid {source.pid}" if source.pid else source.kind
    name = f"{name} {source.label}" if source.kind == "docker" else name
    file = source.path if source.path.startswith("/proc/") else source.path.rpartition("/")[2] or source.path
    size = format_bytes(source.size) if source.size is not None else ""
    told: tuple[Line | str, ...] = (name, size, file, source.problem or source.label)
    return Row(source.path, tuple((str(cell), "dim") for cell in told) if source.problem else told)
