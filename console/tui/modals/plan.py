"""The plan of an action, before it: Enter and Escape cancel, the same capital confirms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.tui.key_names import label
from console.tui.modals.dialog import Dialog
from console.tui.text import tone_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from textual.events import Key, Mount

    from console.tui.text import Line

ARMED_AFTER_S = 0.3
"""The capital that asked for the plan may still be coming, held down or pressed twice: nobody has read the plan yet."""

ASKED_STILL_S = 0.2
"""How often a question about what runs looks whether it runs."""


class PlanModal(Dialog[bool]):
    """Answers True when the plan was confirmed, None when it was not. `refusal` says why it cannot be.

    `is_open` says whether there is still anything to answer; when there is not any more it closes, unanswered.
    """

    BUTTON = "Leave it (Enter)"

    def __init__(
        self,
        title: str,
        key: str,
        lines: Iterable[Line | str],
        *,
        refusal: str = "",
        footer: str = "",
        is_open: Callable[[], bool] | None = None,
    ) -> None:
        shown = label(key)
        told: Line = (footer or f"Nothing has changed yet.  {shown} again: do it.  Enter, Esc: leave it.", "warn")
        refused: Line = (f"{shown} is refused: {refusal}", "error")
        super().__init__(title, lines, refused if refusal else told)
        self._key = key
        self._is_refused = bool(refusal)
        self._is_open = is_open
        self._last_key_at = 0.0
        self.is_armed = False
        """True when it has been seen for a moment: the earliest that a key may confirm it."""

    def on_mount(self, event: Mount) -> None:
        self._last_key_at = event.time
        self.set_timer(ARMED_AFTER_S, self._arm)
        if self._is_open:
            self.set_interval(ASKED_STILL_S, self._look)

    def on_key(self, event: Key) -> None:
        if event.key != self._key:
            return
        event.stop()
        # By the time at which the key was pressed, not at which a busy console comes round to it.
        quiet_s, self._last_key_at = event.time - self._last_key_at, event.time
        if self._is_refused:
            self.app.bell()
        elif self.is_armed and quiet_s >= ARMED_AFTER_S:
            self.dismiss(True)

    def _arm(self) -> None:
        self.is_armed = True

    def _look(self) -> None:
        if self._is_open and not self._is_open() and self.is_active:
            self.dismiss(None)


def plan_line(line: str) -> Line:
    """Tone a line of a plan by its first word: findings begin with their severity."""
    word = line.strip().split(":", 1)[0].split(" ", 1)[0]
    return (line, tone_of(word) if word in ("error", "warn", "info") else "")
