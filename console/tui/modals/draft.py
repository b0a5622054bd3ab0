"""A draft that is not valid: what is wrong, and whether to edit again, keep it, or throw it away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from console.tui.modals.dialog import Dialog

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.events import Key

    from console.tui.text import Line

Choice = Literal["edit", "discard"]
_CHOICES: dict[str, Choice] = {"e": "edit", "D": "discard"}


class DraftModal(Dialog[Choice]):
    """Answers what to do; None: it is kept."""

    BUTTON = "Keep the draft (Enter)"

    def __init__(self, title: str, lines: Iterable[Line | str]) -> None:
        super().__init__(
            title, lines, ("Not saved.  e: edit again.  Enter, Esc: keep as a draft.  D: discard.", "warn")
        )

    def on_key(self, event: Key) -> None:
        if event.key in _CHOICES:
            event.stop()
            self.dismiss(_CHOICES[event.key])
