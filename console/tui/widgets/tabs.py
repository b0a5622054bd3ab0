"""One line on top where several nodes are open: each with its link, its free GPUs and its alarms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.tui.text import content
from console.tui.widgets.status import Status
from console.units import format_age

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.state.model import ConsoleState
    from console.state.nodes_state import NodeTab
    from console.tui.text import Line


class TabBar(Status):
    """Not there at all where one node is open."""

    def __init__(self) -> None:
        super().__init__("tabs")
        self.display = False

    def show(self, state: ConsoleState) -> None:
        tabs, shown = state.nodes.tabs, state.nodes.shown
        if self.display != (len(tabs) > 1):  # setting it costs a layout, also to what it is
            self.display = not self.display
        if self.display:
            self.say(content(*(part for at, tab in enumerate(tabs) for part in _tab(tab, is_shown=at == shown))))


def _tab(tab: NodeTab, *, is_shown: bool) -> Iterator[Line | str]:
    is_old = tab.age_s > 0
    yield ("[" if is_shown else " ", "head")
    yield (tab.name, "head" if is_shown else "dim" if is_old else "")
    if tab.free is not None:
        told = f" {tab.free}/{tab.gpus} free" if tab.gpus else " no GPUs"
        yield (told, "dim" if is_old else "ok" if tab.free else "warn")
    if tab.link != "connected":
        age = f" {format_age(tab.age_s)}" if is_old else ""
        yield (f" {tab.link}{age}", "warn")
    if tab.busy:
        yield (f" … {tab.busy}", "accent")
    for alarm in tab.alarms:
        yield (f" !{alarm}", "error")
    yield ("] " if is_shown else "  ", "head")
