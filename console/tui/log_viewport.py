"""Where one looks in a log: following its end, or held at rows that stay where they are however fast it grows.

It knows no widget: it says which rows are to be drawn, and asks by `want` for those that are not here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from console.logs.choice import Choice, ChosenRows
from console.logs.marks import Marks
from console.logs.window import LineWindow

if TYPE_CHECKING:
    from collections.abc import Callable

    from console.logs.window import Line

SLICE = 4000
"""Rows that a filter looks at in one go: some milliseconds."""
Side = Literal["before", "after"]
Place = tuple[int, int]
"""Epoch and byte offset of a line."""


class Viewport:
    """A position in a window of a log, or in the rows of it that are chosen."""

    def __init__(self, want: Callable[[Side | int], object], height_of: Callable[[Line], int]) -> None:
        self.height = 1
        self.choice = Choice()
        self.is_following = True
        self.live = LineWindow()
        self.chosen: ChosenRows | None = None
        self.cursor = 0
        self.top = 0
        self._want = want
        self._height_of = height_of
        self._marks = Marks()
        self._behind = 0
        self._held: LineWindow | None = None
        self._is_elsewhere = False
        """True when what is held is a part of the file that the live window does not reach."""
        self._held_end = 0

    @property
    def rows(self) -> LineWindow | ChosenRows:
        """The rows that are looked at."""
        if self.chosen is not None:
            return self.chosen
        return self.live if self._held is None else self._held

    @property
    def held(self) -> LineWindow | None:
        """What is held of all lines; None while following, or among chosen ones."""
        return self._held if self.chosen is None else None

    @property
    def unseen(self) -> int:
        """Rows that came since the view was held."""
        if self.is_following:
            return 0
        end = self.chosen.end_row if self.chosen is not None else self.live.end_row
        return max(0, end - self._held_end)

    @property
    def _end_row(self) -> int:
        """Where what is held ends. A choice goes on with what comes while it is held, and nobody asked for that yet."""
        return self.rows.end_row if self.chosen is None else self._held_end

    @property
    def current(self) -> Line | None:
        """The line that the cursor is on."""
        rows = self.rows
        row = rows.end_row - 1 if self.is_following else self.cursor
        return rows.line(row) if rows.first_row <= row < rows.end_row else None

    def shown(self) -> list[tuple[int, int]]:
        """What is to be drawn from top to bottom: row, and which piece of it where lines are wrapped."""
        rows, height = self.rows, self.height
        if self.is_following:
            up: list[tuple[int, int]] = []
            row = rows.end_row - 1
            while row >= rows.first_row and len(up) < height:
                up += [(row, piece) for piece in reversed(range(self._height_of(rows.line(row))))]
                row -= 1
            return up[:height][::-1]
        return self._from(max(self.top, rows.first_row))

    def open(self, window: LineWindow) -> None:
        """Look at another log: from its end, everything."""
        self.live, self.chosen, self.choice = window, None, Choice()
        self._held, self._is_elsewhere, self.is_following = None, False, True

    def take(self, marks: Marks, behind: int) -> bool:
        """Let the choice take in what is new; True when it has more to do. `behind`: bytes that `marks` lacks."""
        self._marks, self._behind = marks, behind
        if self.chosen is None:
            return False
        until = self.live.end_row
        if self.choice.unclaimed and behind:
            marked = self.live.row_at(self.live.end - behind)
            until = self.live.first_row if marked is None else marked
        return self.chosen.take(self.live, SLICE, until, marks, is_held=not self.is_following)

    def choose(self, choice: Choice) -> bool:
        """Show only what is chosen, or everything again, at the same line if the view was held.

        Raises UsageError, and then nothing changes. Returns True when there is more to be looked at.
        """
        chosen = None if choice.is_everything else ChosenRows(choice)
        line = None if self.is_following else self.current
        self.chosen, self.choice = chosen, choice
        self._held, self._is_elsewhere, self.is_following = None, False, True
        more = self.take(self._marks, self._behind)
        if line is not None and chosen is None:
            self.go_to(line.offset)
        return more

    def move(self, rows: int) -> None:
        """Move the cursor; up holds the view, down from its last row follows again."""
        if rows > 0 and self.is_following:
            return
        self.hold()
        wanted = self.cursor + rows
        if wanted >= self._end_row:
            self._grow_down()
        if rows > 0 and self.cursor == self.rows.end_row - 1 and not self._is_elsewhere:
            self.follow()
            return
        self.set_cursor(wanted)
        if wanted <= self.rows.first_row:
            self._grow_up()

    def page(self, pages: int) -> None:
        """Move by what is seen, less one row."""
        self.hold()
        step = pages * max(1, self.height - 1)
        self.top = max(self.rows.first_row, min(self.top + step, self.rows.end_row - self.height))
        self.move(step)

    def first(self) -> None:
        """Go to the first line of the file, or of what is chosen."""
        self.hold()
        rows = self.rows
        if isinstance(rows, LineWindow) and rows.start and rows.first_epoch == self.live.epoch:
            self._want(0)
        self.set_cursor(rows.first_row)

    def follow(self) -> None:
        """Go to the newest line and stay with it."""
        self.is_following, self._held, self._is_elsewhere = True, None, False

    def hold(self) -> None:
        """Keep what is on the screen where it is."""
        if not self.is_following:
            return
        shown = self.shown()
        if self.chosen is None:
            self._held = self.live.copy()
        self.is_following = False
        self._held_end = self.rows.end_row
        self.cursor = max(self.rows.first_row, self._held_end - 1)
        self.top = shown[0][0] if shown else self.rows.first_row

    def go_to(self, offset: int, epoch: int | None = None) -> None:
        """Put the cursor on the line that holds a byte of the file; one that is not here is asked for."""
        if self.chosen is not None:
            self.chosen, self.choice = None, Choice()
            self.is_following = True
        self.hold()
        epoch = self.live.epoch if epoch is None else epoch
        row = self._held.row_at(offset, epoch) if self._held else None
        if row is None and (row := self.live.row_at(offset, epoch)) is not None:
            self._held, self._is_elsewhere = self.live.copy(), False
        if row is not None:
            self.set_cursor(row, middle=True)
        elif epoch == self.live.epoch:
            self._want(offset)

    def open_elsewhere(self, window: LineWindow, offset: int) -> None:
        """Hold a window of another part of the file, the cursor on one of its bytes."""
        self.hold()
        if self.chosen is None:
            self._held, self._is_elsewhere = window, True
            row = window.row_at(offset, window.epoch)
            self.set_cursor(window.first_row if row is None else row, middle=True)

    def joined(self, where: Side, offset: int, data: bytes) -> None:
        """Take in bytes that were asked for, before or after what is held."""
        if self._held is None or self.chosen is not None:
            return
        if where == "before" and offset + len(data) == self._held.start:
            self._held.prepend(offset, data)
        elif where == "after" and offset == self._held.end:
            self._held.append(offset, data)

    def set_cursor(self, row: int, *, middle: bool = False) -> None:
        """Put the cursor on a row, and move what is seen only as far as it must."""
        rows = self.rows
        self.cursor = max(rows.first_row, min(row, rows.end_row - 1))
        if middle or not self.top <= self.cursor < self.top + self.height:
            above = self.height // 2 if middle else 0 if self.cursor < self.top else self.height - 1
            self.top = max(rows.first_row, self.cursor - above)
        while self.top < self.cursor and all(row != self.cursor for row, _piece in self._from(self.top)):
            self.top += 1  # wrapped lines above it take its place

    def _from(self, top: int) -> list[tuple[int, int]]:
        rows = self.rows
        down: list[tuple[int, int]] = []
        for row in range(top, min(self._end_row, top + self.height)):
            down += [(row, piece) for piece in range(self._height_of(rows.line(row)))]
            if len(down) >= self.height:
                break
        return down[: self.height]

    def _grow_up(self) -> None:
        """Ask for what lies before the first row that is held."""
        rows = self.rows
        if isinstance(rows, LineWindow) and rows.start and rows.first_epoch == self.live.epoch:
            self._want("before")

    def _grow_down(self) -> None:
        """Hold further rows: the live window's, or, where it has dropped them, the file's."""
        held = self._held
        if self.chosen is not None:
            self._held_end = self.chosen.end_row
        if held is None or self.chosen is not None:
            return
        if not self._is_elsewhere and self.live.first_row <= self.top:
            self._held = self.live.copy()
            self._held_end = self._held.end_row
            return
        line = self.current
        row = self.live.row_at(line.offset, line.epoch) if line else None
        if row is not None and row - (self.cursor - self.top) >= self.live.first_row:
            self._held, self._is_elsewhere = self.live.copy(), False
            self.top, self.cursor = row - (self.cursor - self.top), row
            self._held_end = self._held.end_row
        else:
            self._want("after")
