"""A failure: what failed, what to do next, the last lines that came with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.tui.modals.dialog import Dialog

if TYPE_CHECKING:
    from console.tui.text import Line


class ErrorModal(Dialog[None]):
    """All of its text may be foreign."""

    DEFAULT_CLASSES = "-error"

    def __init__(self, title: str, message: str, hint: str = "", detail: str = "") -> None:
        lines: list[Line | str] = [(message, "error")]
        lines += [hint] if hint else []
        lines += [(f"| {line}", "dim") for line in detail.splitlines()]
        super().__init__(title, lines)
