"""Every key, what it does, and why it does not just now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.tui.modals.dialog import Dialog

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.state.model import ConsoleState
    from console.tui.keys import Group, Key, KeyTable
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
    """The keys of the user's table, those of the current screen first in each group."""

    def __init__(self, table: KeyTable, screen: str, state: ConsoleState) -> None:
        super().__init__("Keys", help_lines(table, screen, state))


def help_lines(table: KeyTable, screen: str, state: ConsoleState) -> Iterator[Line]:
    """Return the text of the help on a screen."""
    for group, title in _GROUPS.items():
        yield (title, "head")
        keys = [each for each in table.keys if each.group == group]
        for key in sorted(keys, key=lambda each: screen not in each.screens):
            label = " ".join(_labels(key))
            if screen in key.screens:
                why = table.why_not(key.id, state)
                yield (f"  {label:<5} {key.title}{f': not now: {why}' if why else ''}", "dim" if why else "")
            else:
                yield (f"  {label:<5} {key.title} (screen {', '.join(key.screens)})", "dim")
    for line in (
        *_TABLES,
        table.hint("{command} and an action's name does it too, with what it takes; {palette} finds it."),
    ):
        yield (line, "dim")


def _labels(key: Key) -> tuple[str, ...]:
    from console.tui.key_names import label

    return tuple(map(label, key.keys)) or (key.label,)
