"""The raw log: only visible records are drawn, and a view that is held back stays still while the log grows."""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from console.logs.highlight import spans, without_secrets
from console.logs.history import RECORDS_LIMIT
from console.logs.record import UNCLAIMED
from console.tui.text import MORE
from console.units import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from textual.binding import BindingType
    from textual.timer import Timer

    from console.logs.history import LogHistory
    from console.logs.record import Record

WIDTH_LIMIT = 4096
"""Characters of a record that are drawn; the rest is told of by its mark, and stands in the file."""
MEASURE_S = 0.25
TROUBLE = frozenset({"failure", "torch_error", "traceback", "argparse_error"})
BACK = "‹"


class LogView(ScrollView, can_focus=True):
    """Follows the newest line until the user moves up; then nothing moves until G (or the end) is reached."""

    DEFAULT_CSS = """
    LogView {
        height: 1fr; scrollbar-size: 0 1; background: $background;
        & > .log--site { color: $text-accent; text-style: bold; }
        & > .log--shape { color: $text-success; text-style: bold; }
        & > .log--number { color: $text-success; }
        & > .log--error { color: $text-error; text-style: bold; }
        & > .log--rank { color: $text-warning; }
        & > .log--secret { color: $text-muted; }
        & > .log--cut { color: $text-warning; text-style: bold; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "log--site",
        "log--shape",
        "log--number",
        "log--error",
        "log--rank",
        "log--secret",
        "log--cut",
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        ("down,j", "move(1)", "Down"),
        ("up,k", "move(-1)", "Up"),
        ("pagedown", "page(1)", "Page down"),
        ("pageup", "page(-1)", "Page up"),
        ("g,home", "first", "First"),
        ("G,end", "follow", "Last, and follow"),
        ("left,h", "sideways(-8)", "Left"),
        ("right,l", "sideways(8)", "Right"),
    ]

    class Changed(Message):
        """Following, filter or position changed."""

    def __init__(self, name: str) -> None:
        super().__init__(id=name)
        self.is_following = True
        self.filter = ""
        self.drift_only = False
        self.unseen = 0
        """Records that came since the view was held."""
        self._history: LogHistory | None = None
        self._taken = 0
        self._rows: Sequence[Record] = ()
        self._matching: deque[Record] = deque(maxlen=RECORDS_LIMIT)
        self._longest = 0
        self._measuring: Timer | None = None

    @property
    def row_count(self) -> int:
        """Rows that are shown: all records kept, or those that match."""
        return len(self._rows)

    @property
    def _room(self) -> Size:
        """What can be drawn on: `size` has the scrollbar in it."""
        return self.scrollable_content_region.size

    @property
    def is_filtered(self) -> bool:
        return bool(self.filter) or self.drift_only

    def show(self, history: LogHistory | None) -> None:
        """Take in what the history has new; call it at the pace of the screen."""
        if history is not self._history:
            self._open(history)
        if history is None:
            return
        fresh = self._fresh(history)
        if not fresh:
            return
        self._longest = max(self._longest, *(min(len(record.text), WIDTH_LIMIT) for record in fresh))
        matching = list(filter(self._matches, fresh)) if self.is_filtered else fresh
        if self.is_filtered:
            self._matching.extend(matching)
        if self.is_following:
            self._draw()
        else:
            self.unseen += len(matching)

    def set_filter(self, text: str, drift_only: bool = False) -> None:
        """Show only records that hold `text` (any case while it is all lower; `!text`: that do not)."""
        self.filter, self.drift_only = text, drift_only
        self._matching.clear()
        if self._history and self.is_filtered:
            self._matching.extend(filter(self._matches, self._history.records))
        self.action_follow()

    def action_move(self, lines: int) -> None:
        if lines < 0:
            self._hold()
        elif self._is_at_end():
            self.action_follow()
        self.scroll_relative(y=lines, animate=False, force=True)

    def action_page(self, pages: int) -> None:
        self.action_move(pages * max(1, self._room.height - 1))

    def action_first(self) -> None:
        self._hold()
        self.scroll_to(y=0, animate=False, force=True)

    def action_sideways(self, cells: int) -> None:
        self.scroll_relative(x=cells, animate=False, force=True)

    def action_follow(self) -> None:
        """Go to the newest line and stay with it."""
        self.is_following, self.unseen = True, 0
        self._draw()
        self.post_message(self.Changed())

    def toggle_following(self) -> None:
        """Hold the view still, or follow again."""
        if self.is_following:
            self._hold()
        else:
            self.action_follow()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        # The mouse wheel and the scrollbar do not come through an action.
        if new_value < old_value and self.is_vertical_scrollbar_grabbed:
            self._hold()

    def on_mouse_scroll_up(self) -> None:
        self._hold()

    def on_resize(self) -> None:
        if self.is_following:
            self._measure()

    def render_line(self, y: int) -> Strip:
        """Draw one visible row; what is cut on a side is marked there."""
        left, top = self.scroll_offset.x, self._top()
        width, base = self._room.width, self.rich_style
        if top + y >= len(self._rows):
            return Strip.blank(width, base)
        record = self._rows[top + y]
        text = plain(without_secrets(record.text)[:WIDTH_LIMIT])
        strip = Strip(list(self._segments(text, record, base)))
        cut_style = base + self._style("cut")
        goes_on = strip.cell_length > left + width or (len(record.text) > WIDTH_LIMIT and left + width >= WIDTH_LIMIT)
        strip = strip.crop_extend(left, left + width, base)
        if goes_on:
            strip = Strip.join([strip.crop(0, width - 1), Strip([Segment(MORE, cut_style)])])
        if left and text:
            strip = Strip.join([Strip([Segment(BACK, cut_style)]), strip.crop(1)])
        return strip

    def _segments(self, text: str, record: Record, base: Style) -> Iterator[Segment]:
        if record.kind in TROUBLE:
            base += self._style("error")
        at = 0
        for start, end, name in spans(text):
            yield Segment(text[at:start], base)
            yield Segment(text[start:end], base + self._style(name))
            at = end
        yield Segment(text[at:], base)

    def _style(self, name: str) -> Style:
        style = self.get_component_rich_style(f"log--{name}")
        return Style(color=style.color, bold=style.bold)

    def _open(self, history: LogHistory | None) -> None:
        self._history, self._taken, self._longest = history, 0, 0
        self._matching.clear()
        self.is_following, self.unseen = True, 0
        self._draw()

    def _fresh(self, history: LogHistory) -> list[Record]:
        """Return the records that came since the last time, as far as they are still kept."""
        total = sum(history.counts.values())
        count, self._taken = min(total - self._taken, len(history.records)), total
        return list(islice(reversed(history.records), count))[::-1]

    def _matches(self, record: Record) -> bool:
        if self.drift_only and record.kind != UNCLAIMED:
            return False
        wanted = self.filter.removeprefix("!")
        text = record.text.lower() if wanted == wanted.lower() else record.text
        return (wanted in text) != (self.filter.startswith("!") and bool(wanted))

    def _live(self) -> Sequence[Record]:
        if self.is_filtered:
            return self._matching
        return self._history.records if self._history else ()

    def _hold(self) -> None:
        """Keep what is on the screen: the ring of records drops its oldest while the log goes on."""
        if self.is_following:
            self._measure()
            self.is_following = False
            self._rows = tuple(self._rows)
            self.post_message(self.Changed())

    def _is_at_end(self) -> bool:
        return self.scroll_offset.y >= self._last_top()

    def _draw(self) -> None:
        """Show the newest rows. Their number may grow 20 times a second: the scrollbar learns of it less often."""
        self._rows = self._live()
        if self._measuring is None:
            self._measure()
            self._measuring = self.set_timer(MEASURE_S, self._measured)
        self.refresh()

    def _measured(self) -> None:
        self._measuring = None
        if self.is_following and len(self._rows) != self.virtual_size.height:
            self._measure()

    def _measure(self) -> None:
        """Tell Textual how much there is: this costs a layout of the whole screen."""
        self.virtual_size = Size(self._longest, len(self._rows))
        self.scroll_to(y=self._last_top(), animate=False, force=True)

    def _top(self) -> int:
        """The first row that is seen."""
        return self._last_top() if self.is_following else self.scroll_offset.y

    def _last_top(self) -> int:
        return max(0, len(self._rows) - self._room.height)
