"""A question that is answered yes by typing a name out: for what must not happen by a key pressed by mistake."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.containers import Vertical
from textual.widgets import Input, Static

from console.tui.modals.dialog import Dialog
from console.tui.text import content, paragraphs
from console.tui.widgets.status import Status

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.app import ComposeResult

    from console.tui.text import Line


class TypedModal(Dialog[bool]):
    """Answers True when `wanted` was typed, None when it was left."""

    def __init__(self, title: str, lines: Iterable[Line | str], wanted: str) -> None:
        super().__init__(title, lines)
        self._wanted = wanted

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = content(self._title)
            yield Static(paragraphs(self._lines), markup=False)
            yield Input(placeholder=f"type {self._wanted}, then Enter; Esc leaves it as it is", id="typed")
            yield Status("typed-said")

    @on(Input.Submitted)
    def _typed(self, message: Input.Submitted) -> None:
        message.stop()
        if message.value.strip() == self._wanted:
            self.dismiss(True)
        else:
            told = f"{message.value.strip() or 'nothing'} is not {self._wanted}: nothing has changed"
            self.query_one("#typed-said", Status).say(content((told, "error")))
