"""The raw log on the screen: only the rows that are seen are cut out, read and drawn.

It scrolls by itself, by rows that keep their numbers: Textual's own scrolling would lay out the whole screen anew each
time the log grows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from console.logs.marks import Marks
from console.logs.window import TEXT_LIMIT, LineWindow
from console.tui.log_viewport import Viewport
from console.tui.widgets.log_draw import PARTS, Looks, drawn, line_strip, seen_of

if TYPE_CHECKING:
    from textual.binding import BindingType
    from textual.events import Click, MouseScrollDown, MouseScrollUp
    from textual.geometry import Region
    from textual.timer import Timer

    from console.logs.choice import Choice
    from console.logs.window import Line
    from console.tui.log_viewport import Place, Side

GUTTER = 1
"""Cells in front of a line: the cursor, or a bookmark."""
SLICE_S = 0.01
WHEEL = 3
THUMB = "┃"


class Frame(NamedTuple):
    """What all rows of a frame share: to ask for it costs as much as a row."""

    looks: Looks
    width: int
    room: int
    """Cells of a line's text."""
    thumb: range


class LogView(Widget, can_focus=True):
    """Shows a log where its viewport looks."""

    DEFAULT_CSS = """
    LogView {
        height: 1fr; background: $background;
        & > .log--site { color: $text-accent; text-style: bold; }
        & > .log--shape { color: $text-success; text-style: bold; }
        & > .log--number { color: $text-success; }
        & > .log--error { color: $text-error; text-style: bold; }
        & > .log--rank { color: $text-warning; }
        & > .log--secret { color: $text-muted; }
        & > .log--cut { color: $text-warning; text-style: bold; }
        & > .log--note { color: $text-warning; text-style: bold; }
        & > .log--cursor { color: $text-accent; text-style: bold; }
        & > .log--thumb { color: $foreground-muted; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"log--{name}" for name in PARTS}
    BINDINGS: ClassVar[list[BindingType]] = [
        ("down,j", "move(1)", "Down"),
        ("up,k", "move(-1)", "Up"),
        ("pagedown", "page(1)", "Page down"),
        ("pageup", "page(-1)", "Page up"),
        ("g,home", "first", "First"),
        ("G,end", "follow", "Last, and follow"),
        ("left,h", "sideways(-8)", "Left"),
        ("right,l", "sideways(8)", "Right"),
        ("enter", "open", "In its place"),
    ]

    class Changed(Message):
        """Following, choice or position changed."""

    class Wants(Message):
        """Rows are wanted that are not here: before or after what is held, or about a byte of the file."""

        def __init__(self, where: Side | int) -> None:
            super().__init__()
            self.where = where

    def __init__(self, name: str) -> None:
        super().__init__(id=name)
        self.port = Viewport(lambda where: self.post_message(self.Wants(where)), self._height_of)
        self.is_wrapped = False
        self.left = 0
        self.bookmarks: set[Place] = set()
        self.range_start: Line | None = None
        """Where a range that is to be saved begins."""
        self._marks = Marks()
        self._behind = 0
        self._version = -1
        self._taking: Timer | None = None
        self._shown: list[tuple[int, int]] = []
        self._looks: Looks | None = None

    @property
    def row_count(self) -> int:
        return len(self.port.rows)

    @property
    def is_following(self) -> bool:
        return self.port.is_following

    @property
    def unseen(self) -> int:
        return self.port.unseen

    @property
    def choice(self) -> Choice:
        return self.port.choice

    @property
    def is_filtered(self) -> bool:
        return self.port.chosen is not None

    @property
    def place(self) -> Place | None:
        """Where the cursor is in the file."""
        line = self.port.current
        return (line.epoch, line.offset) if line else None

    def show(self, window: LineWindow | None, marks: Marks | None = None, behind: int = 0) -> None:
        """Take in what the window has new; call it at the pace of the screen. `behind`: bytes that `marks` lacks."""
        window = window or LineWindow()
        if window is not self.port.live and (len(window) or len(self.port.live)):
            self.port.open(window)
            self.bookmarks.clear()
            self.range_start, self._version = None, -1
        if (window.version, behind) != (self._version, self._behind):
            self._marks = marks or self._marks
            self._version, self._behind = window.version, behind
            self._take()

    def choose(self, choice: Choice) -> None:
        """Show only what is chosen, or everything again. Raises UsageError, and then nothing changes."""
        self.port.choose(choice)
        self._take()
        self.changed()

    def found(self, lines: tuple[Line, ...]) -> None:
        """Earlier lines of the file, newest first, that match the choice."""
        if self.port.chosen is not None:
            self.port.chosen.found(lines)
            self.changed()

    def changed(self) -> None:
        """Draw anew, and tell."""
        self.refresh()
        self.post_message(self.Changed())

    # Keys

    def action_move(self, rows: int) -> None:
        self.port.move(rows)
        self.changed()

    def action_page(self, pages: int) -> None:
        self.port.page(pages)
        self.changed()

    def action_first(self) -> None:
        self.port.first()
        self.changed()

    def action_follow(self) -> None:
        self.port.follow()
        self.changed()

    def action_sideways(self, cells: int) -> None:
        self.left = max(0, min(TEXT_LIMIT, self.left + cells))
        self.refresh()

    def action_open(self) -> None:
        """From a chosen row to its place among all lines."""
        line = self.port.current
        if self.is_filtered and line is not None:
            self.go_to(line.offset, line.epoch)

    def go_to(self, offset: int, epoch: int | None = None) -> None:
        """Put the cursor on the line that holds a byte of the file, among all lines."""
        self.port.go_to(offset, epoch)
        self.changed()

    def toggle_following(self) -> None:
        """Hold the view still, or follow again."""
        if self.is_following:
            self.port.hold()
        else:
            self.port.follow()
        self.changed()

    def toggle_wrap(self) -> None:
        """Break lines that are longer than the screen is wide, or do not."""
        self.is_wrapped = not self.is_wrapped
        self.port.set_cursor(self.port.cursor)
        self.refresh()

    def toggle_bookmark(self) -> None:
        """Mark the line of the cursor, or take its mark away."""
        if place := self.place:
            self.bookmarks ^= {place}
            self.port.hold()
            self.changed()

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        event.stop()
        self.action_move(-WHEEL)

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        event.stop()
        self.action_move(WHEEL)

    def on_click(self, event: Click) -> None:
        self.port.hold()
        if event.y < len(self._shown):
            self.port.set_cursor(self._shown[event.y][0])
        self.changed()

    # Drawing

    def render_lines(self, crop: Region) -> list[Strip]:
        self.port.height = max(1, self.size.height)
        self._shown = self.port.shown()
        if self.opacity < 1:
            return super().render_lines(crop)
        # There is no border, padding or tint: Textual's way through them is a quarter of the cost of a frame.
        frame = self._framed()
        strips = [self._row(y, frame) for y in crop.line_range]
        if crop.column_span == (0, frame.width):
            return strips
        return [strip.crop(*crop.column_span) for strip in strips]

    def notify_style_update(self) -> None:
        self._looks = None
        super().notify_style_update()

    def render_line(self, y: int) -> Strip:
        return self._row(y, self._framed())

    def _framed(self) -> Frame:
        # Kept: a style that is looked up for each row costs more than the row.
        self._looks = self._looks or self._looked_up()
        width, height = self.size
        return Frame(self._looks, width, max(1, width - GUTTER - 1), self._thumb_rows(max(1, height)))

    def _row(self, y: int, frame: Frame) -> Strip:
        looks, room = frame.looks, frame.room
        rows = self.port.rows
        row, piece = self._shown[y] if y < len(self._shown) else (rows.end_row, 0)
        if not rows.first_row <= row < rows.end_row:
            return Strip.blank(frame.width, looks.base)
        line = rows.line(row)
        if self.is_wrapped:
            strip = line_strip(line, self._label(row), looks)
            text = list(strip.crop_extend(piece * room, (piece + 1) * room, looks.base))
        else:
            text = seen_of(line, self._label(row), looks, self.left, room)
        thumb = Segment(THUMB, looks.parts["thumb"]) if y in frame.thumb else Segment(" ", looks.base)
        return Strip([self._gutter(row, line, looks), *text, thumb], GUTTER + room + 1)

    def on_resize(self) -> None:
        self.port.height = max(1, self.size.height)
        if not self.is_following:
            self.port.set_cursor(self.port.cursor)

    @property
    def _room(self) -> int:
        return max(1, self.size.width - GUTTER - 1)

    def _height_of(self, line: Line) -> int:
        if not self.is_wrapped or line.note:
            return 1
        return max(1, -(-cell_len(drawn(line.raw).text) // self._room))

    def _label(self, row: int) -> str:
        if self.port.chosen is None or not self.choice.collapse:
            return ""
        entry = self.port.chosen.entry(row)
        return f"×{entry.count}" if entry.count > 1 else "  "

    def _gutter(self, row: int, line: Line, looks: Looks) -> Segment:
        is_marked = (line.epoch, line.offset) in self.bookmarks
        is_here = not self.is_following and row == self.port.cursor
        is_anchor = line == self.range_start
        mark = "◆" if is_marked and is_here else "●" if is_marked else "▌" if is_here else "┌" if is_anchor else " "
        return Segment(mark, looks.parts["cursor"])

    def _thumb_rows(self, height: int) -> range:
        """The rows that show which part of the log is seen."""
        rows = self.port.rows
        count = len(rows)
        if count <= height or not self._shown:
            return range(0)
        size = max(1, height * height // count)
        first = min((self._shown[0][0] - rows.first_row) * height // count, height - size)
        return range(first, first + size)

    def _looked_up(self) -> Looks:
        base = self.rich_style
        parts = {name: base + self._style(name) for name in PARTS}
        return Looks(self._filtered(base), {name: self._filtered(style) for name, style in parts.items()})

    def _filtered(self, style: Style) -> Style:
        """The style as the terminal is to get it (no colour, ANSI colours): once, not for each row."""
        strip = Strip([Segment(" ", style)])
        for each in self.app.get_line_filters():
            strip = strip.apply_filter(each, self.background_colors[1])
        return next(iter(strip)).style or style

    def _style(self, name: str) -> Style:
        style = self.get_component_rich_style(f"log--{name}")
        return Style(color=style.color, bold=style.bold)

    def _take(self) -> None:
        """Let the choice look at what is new, a slice at a time."""
        if self._taking is not None:
            self._taking.stop()
            self._taking = None
        if self.port.take(self._marks, self._behind):
            self._taking = self.set_timer(SLICE_S, self._take)
        if self.is_following:
            self.refresh()
