"""A question of connecting: a password, a code, the passphrase of a key. The answer goes to whoever asked alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.containers import Vertical
from textual.widgets import Input, Static

from console.tui.modals.dialog import Dialog
from console.tui.text import content, paragraphs
from console.tui.widgets.status import Status

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from console.remote.prompts import Question

MAX_TEXT = 2000
MAX_ANSWER = 4096
_KEYS = "Enter sends it; Esc: no answer, no connection. Nothing is kept."


class QuestionModal(Dialog[str]):
    """Answers what was typed, None when it was left. Enter alone sends nothing: it may have meant what was before."""

    def __init__(self, question: Question) -> None:
        asks = f"{question.asker or 'The connection'} asks for {question.what}"
        super().__init__("Connecting", [(asks, "head"), *question.text[:MAX_TEXT].splitlines()])
        self._secret = question.secret

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = content(self._title)
            yield Static(paragraphs(self._lines), markup=False)
            yield Input(password=self._secret, max_length=MAX_ANSWER, id="typed")
            yield Status("typed-said")

    def on_mount(self) -> None:
        self.query_one("#typed-said", Status).say(content((_KEYS, "dim")))

    @on(Input.Submitted)
    def _typed(self, message: Input.Submitted) -> None:
        message.stop()
        if message.value:
            self.dismiss(message.value)
        else:
            self.query_one("#typed-said", Status).say(content((f"nothing is typed yet. {_KEYS}", "warn")))
