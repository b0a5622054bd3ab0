"""Panes: all to be seen where the terminal is wide, one at a time under a strip of their names where it is narrow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.containers import Container

from console.tui.text import content
from console.tui.widgets.status import Status

if TYPE_CHECKING:
    from textual.widget import Widget

    from console.tui.text import Line


class Pane(Container):
    """A titled part of a screen."""

    def __init__(self, name: str, title: str, *children: Widget, short: bool = False) -> None:
        """`short` takes no more height than its content."""
        super().__init__(*children, id=name, classes="-short" if short else None)
        self.title = title
        self.more = ""
        self.border_title = content(title)

    def retitle(self, title: str, more: str = "") -> None:
        """Name the pane by what it counts; `more` has room only where the pane is seen."""
        if (title, more) != (self.title, self.more):
            self.title, self.more = title, more
            self.border_title = content(f"{title} {more}".rstrip())
            if isinstance(self.parent, Panes):
                self.parent.restrip()

    def focus_inside(self) -> None:
        """Give the keyboard to the first widget that takes it."""
        for widget in self.query("*"):
            if widget.focusable:
                widget.focus()
                return


class Panes(Container):
    """Panes under a strip that only a narrow screen shows; `pinned` ones stand above it and are always seen."""

    def __init__(self, *panes: Pane, pinned: tuple[Pane, ...] = (), name: str | None = None) -> None:
        super().__init__(*pinned, Status(classes="strip"), *panes, id=name)
        self._panes = panes
        self._pinned = pinned
        self._at = -1
        for pane in pinned:
            pane.add_class("-pinned")

    def on_mount(self) -> None:
        self.activate(self._panes[0].id or "")
        if self._pinned:
            self._at = 0

    def activate(self, name: str) -> None:
        """Bring a pane to the front."""
        for index, pane in enumerate(self._panes, len(self._pinned)):
            pane.set_class(pane.id == name, "-active")
            if pane.id == name:
                self._at = index
        self.restrip()

    def next(self) -> None:
        """Bring the next pane to the front and give it the keyboard."""
        panes = (*self._pinned, *self._panes)
        self._at = (self._at + 1) % len(panes)
        chosen = panes[self._at]
        if chosen in self._panes:
            self.activate(chosen.id or "")
        # A pane that was hidden takes no keyboard before it is laid out.
        self.call_after_refresh(chosen.focus_inside)

    def restrip(self) -> None:
        """Write the strip anew: titles may have changed."""
        parts: list[Line | str] = [(f"{pane.title}  ", "") for pane in self._pinned]
        for pane in self._panes:
            if pane.has_class("-active"):
                parts += [(f"[{pane.title}]", "head"), (pane.more, "dim")]
            else:
                parts.append((f" {pane.title} ", "dim"))
        self.query_one(".strip", Status).say(content(*parts))
