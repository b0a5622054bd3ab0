"""What all modals share: a titled box, a text that scrolls, and one focused button that changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from console.tui.text import content, paragraphs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from console.tui.text import Line

Answer = TypeVar("Answer")


class Dialog(ModalScreen[Answer], Generic[Answer]):
    """Enter (the button) and Escape close it with no answer."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape", "close", "Close"),
        ("down,j", "move(1)", "Down"),
        ("up,k", "move(-1)", "Up"),
        ("pagedown", "move(10)", "Page down"),
        ("pageup", "move(-10)", "Page up"),
    ]
    BUTTON = "Close (Enter)"

    def __init__(self, title: str, lines: Iterable[Line | str], footer: Line = ("", "")) -> None:
        super().__init__()
        self._title = title
        self._lines = tuple(lines)
        self._footer = footer

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = content(self._title)
            with VerticalScroll(classes="dialog--text", can_focus=False):
                yield Static(paragraphs(self._lines), markup=False)
            if self._footer[0]:
                yield Static(content(self._footer), markup=False, classes="dialog--footer")
            yield Button(content(self.BUTTON), compact=True, classes="dialog--button")

    def on_button_pressed(self) -> None:
        self.action_close()

    def action_close(self) -> None:
        self.dismiss(None)

    def action_move(self, lines: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)
