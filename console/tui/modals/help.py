"""Every key, what it does, and why it does not just now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.tui.keys import KEYS, on_screen
from console.tui.modals.dialog import Dialog

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.state.model import ConsoleState
    from console.tui.keys import Group
    from console.tui.text import Line

_GROUPS: dict[Group, str] = {
    "screens": "Screens",
    "change": "Change the node: shows the plan first, the same capital confirms",
    "look": "Look",
    "console": "Console",
}
_TABLES = (
    "Tables and logs: j k or arrows move, g G first and last, Enter shows a row in full,",
    "left and right scroll a long log line; … and › mark what is cut.",
)


class HelpModal(Dialog[None]):
    """The keys of the table in `keys`, those of the current screen first."""

    def __init__(self, screen: str, state: ConsoleState) -> None:
        super().__init__("Keys", help_lines(screen, state))


def help_lines(screen: str, state: ConsoleState) -> Iterator[Line]:
    """Return the text of the help on a screen."""
    here = on_screen(screen)
    for group, title in _GROUPS.items():
        yield (title, "head")
        for key in (each for each in KEYS if each.group == group):
            if key in here:
                why = key.why_not(state)
                yield (f"  {key.label:<5} {key.title}{f': not now: {why}' if why else ''}", "dim" if why else "")
            else:
                yield (f"  {key.label:<5} {key.title} (screen {', '.join(key.screens)})", "dim")
    for line in _TABLES:
        yield (line, "dim")
