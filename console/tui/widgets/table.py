"""A table that draws only its visible rows and marks what it cuts; updated by giving it all rows anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from console.tui.text import CUT, MORE, as_line, fit
from console.units import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from textual.binding import BindingType
    from textual.events import Click

    from console.tui.text import Line, Tone

GAP = 2
MIN_FLEX = 12
MAX_AUTO = 40
"""Cells that a column without a width takes for its content at most."""


@dataclass(frozen=True, slots=True)
class Column:
    """`width` 0 is as wide as the content; `flex` takes what is left; `from_width` hides it in narrower tables."""

    title: str
    width: int = 0
    flex: bool = False
    right: bool = False
    from_width: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """One row: `key` tells it from others over updates; cells are foreign text with a meaning."""

    key: str
    cells: tuple[Line | str, ...]

    def texts(self) -> tuple[str, ...]:
        return tuple(as_line(cell)[0] for cell in self.cells)


class Table(ScrollView, can_focus=True):
    """Rows under a head, with a cursor."""

    DEFAULT_CSS = """
    Table {
        height: 1fr; overflow-x: hidden; scrollbar-size-vertical: 1; background: $background;
        & > .table--head { color: $text-muted; text-style: bold; }
        & > .table--cursor { background: $primary-muted; }
        & > .table--ok { color: $text-success; }
        & > .table--warn { color: $text-warning; text-style: bold; }
        & > .table--error { color: $text-error; text-style: bold; }
        & > .table--dim { color: $text-muted; }
        & > .table--accent { color: $text-accent; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "table--head",
        "table--cursor",
        "table--ok",
        "table--warn",
        "table--error",
        "table--dim",
        "table--accent",
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        ("down,j", "move(1)", "Down"),
        ("up,k", "move(-1)", "Up"),
        ("pagedown", "move(10)", "Page down"),
        ("pageup", "move(-10)", "Page up"),
        ("g,home", "move(-1000000)", "First"),
        ("G,end", "move(1000000)", "Last"),
        ("enter", "open", "Row in full"),
    ]

    class Moved(Message):
        """The user moved the cursor to a row."""

        def __init__(self, table: Table, key: str) -> None:
            super().__init__()
            self.table = table
            self.key = key

        @property
        def control(self) -> Table:
            return self.table

    class Opened(Message):
        """Enter was pressed on a row."""

        def __init__(self, table: Table, row: Row) -> None:
            super().__init__()
            self.table = table
            self.row = row

        @property
        def control(self) -> Table:
            return self.table

    def __init__(self, name: str, *columns: Column, empty: str = "", keeps_cursor: bool = False) -> None:
        super().__init__(id=name)
        self._keeps_cursor = keeps_cursor
        """Is the cursor seen while another widget has the focus?"""
        self.columns = columns
        self.rows: tuple[Row, ...] = ()
        self.empty = empty
        """Said in place of rows."""
        self.cursor = 0
        self._widths: dict[int, tuple[int, ...]] = {}

    @property
    def _room(self) -> Size:
        """What can be drawn on: `size` has the scrollbar in it."""
        return self.scrollable_content_region.size

    @property
    def current(self) -> Row | None:
        """The row that the cursor is on."""
        return self.rows[self.cursor] if self.cursor < len(self.rows) else None

    def show(self, rows: Sequence[Row], empty: str = "") -> None:
        """Replace all rows; the cursor stays on its row by key, or near its place."""
        rows = tuple(rows)
        if rows == self.rows and empty == self.empty:
            return
        at = self.current
        self.rows, self.empty = rows, empty
        keys = [row.key for row in rows]
        self.cursor = keys.index(at.key) if at and at.key in keys else max(0, min(self.cursor, len(rows) - 1))
        self.virtual_size = Size(0, max(1, len(rows)) + 1)
        self._widths.clear()
        self.refresh()

    def move_to(self, key: str) -> None:
        """Put the cursor on the row `key`, if there is one; only the user's own moves are told by `Moved`."""
        for index, row in enumerate(self.rows):
            if row.key == key and index != self.cursor:
                self._move(index)

    def full(self, row: Row) -> tuple[str, ...]:
        """Return all cells of a row with their titles, hidden and cut ones too."""
        titles = [column.title for column in self.columns]
        wide = max(map(len, titles))
        return tuple(f"{title:<{wide}}  {text}" for title, text in zip(titles, row.texts(), strict=True))

    def action_move(self, rows: int) -> None:
        if self.rows:
            self._move(self.cursor + rows)
            self.post_message(self.Moved(self, self.rows[self.cursor].key))

    def action_open(self) -> None:
        if self.current:
            self.post_message(self.Opened(self, self.current))

    def on_click(self, event: Click) -> None:
        index = self.scroll_offset.y + event.y - 1
        if event.y > 0 and index < len(self.rows):
            self.action_move(index - self.cursor)

    def render_line(self, y: int) -> Strip:
        """Draw one visible line: the head stays, rows scroll under it."""
        width = self._room.width
        look = self.visual_style.rich_style  # `rich_style` itself is made anew for each line
        if y == 0:
            return self._strip(self._head(), look, width)
        index = self.scroll_offset.y + y - 1
        if index < len(self.rows):
            is_cursor = index == self.cursor and (self.has_focus or self._keeps_cursor)
            base = self.get_component_rich_style("table--cursor") if is_cursor else look
            return self._strip(self._row(self.rows[index], base), base, width)
        text = fit(plain(self.empty), width) if not self.rows and y == 1 else ""
        return self._strip([Segment(text, self._style("table--dim"))], look, width)

    def _move(self, index: int) -> None:
        self.cursor = max(0, min(index, len(self.rows) - 1))
        top, seen = self.scroll_offset.y, max(1, self._room.height - 1)
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False, force=True)
        elif self.cursor >= top + seen:
            self.scroll_to(y=self.cursor - seen + 1, animate=False, force=True)
        self.refresh()

    def _strip(self, segments: list[Segment], base: Style, width: int) -> Strip:
        strip = Strip(segments)
        if strip.cell_length > width:
            return Strip.join([strip.crop(0, width - 1), Strip([Segment(MORE, base)])])
        return strip.adjust_cell_length(width, base)

    def _head(self) -> list[Segment]:
        style = self._style("table--head")
        titles = [_placed(column.title, width, column) for column, width in self._placing()]
        return [Segment((" " * GAP).join(titles) + self._hidden_mark(), style)]

    def _hidden_mark(self) -> str:
        """Columns that this width has no room for are said to be there."""
        hidden = sum(column.from_width > self._room.width for column in self.columns)
        return f" +{hidden}{CUT}" if hidden else ""

    def _row(self, row: Row, base: Style) -> list[Segment]:
        segments: list[Segment] = []
        shown = iter(self._placing())
        for column, cell in zip(self.columns, row.cells, strict=True):
            if column.from_width > self._room.width:
                continue
            _column, width = next(shown)
            text, tone = as_line(cell)
            if segments:
                segments.append(Segment(" " * GAP, base))
            segments.append(Segment(_placed(plain(text), width, column), base + self._tone(tone)))
        return segments

    def _placing(self) -> Iterator[tuple[Column, int]]:
        room = self._room.width
        shown = [index for index, column in enumerate(self.columns) if column.from_width <= room]
        if room not in self._widths:
            self._widths = {room: self._measured(shown)}
        for index, width in zip(shown, self._widths[room], strict=True):
            yield self.columns[index], width

    def _measured(self, shown: list[int]) -> tuple[int, ...]:
        widths = [0 if self.columns[index].flex else self._natural(index) for index in shown]
        flexible = [place for place, index in enumerate(shown) if self.columns[index].flex]
        left = self._room.width - sum(widths) - GAP * (len(shown) - 1) - len(self._hidden_mark())
        for nth, place in enumerate(flexible):
            share = left // len(flexible) + (left % len(flexible) if nth == 0 else 0)
            widths[place] = max(MIN_FLEX, share)
        return tuple(widths)

    def _natural(self, index: int) -> int:
        column = self.columns[index]
        if column.width:
            return column.width
        longest = max((cell_len(row.texts()[index]) for row in self.rows), default=0)
        return min(MAX_AUTO, max(len(column.title), longest))

    def _tone(self, tone: Tone) -> Style:
        return self._style(f"table--{tone}") if tone and tone != "head" else Style(bold=tone == "head" or None)

    def _style(self, name: str) -> Style:
        """The colour and weight of a class, without its background: the row has its own."""
        style = self.get_component_rich_style(name)
        return Style(color=style.color, bold=style.bold)


def _placed(text: str, width: int, column: Column) -> str:
    if column.right and cell_len(text) < width:
        return " " * (width - cell_len(text)) + text
    return fit(text, width)
