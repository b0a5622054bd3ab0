"""What screens tell the app; Textual carries it up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from console.state.events import Event
    from console.tui.run_changes import RunChange


class Happened(Message):
    """The user did something that the state should know, such as selecting a profile."""

    def __init__(self, event: Event) -> None:
        super().__init__()
        self.event = event


class CompareAsked(Message):
    """Two stored runs are to stand side by side."""

    def __init__(self, baseline: str | None, candidate: str | None) -> None:
        super().__init__()
        self.baseline = baseline
        self.candidate = candidate


class RunChangeAsked(Message):
    """What stands on a stored run is to be changed."""

    def __init__(self, change: RunChange) -> None:
        super().__init__()
        self.change = change


class RunLogAsked(Message):
    """The part of the server's log that a stored run was measured in is to be looked at."""

    def __init__(self, run_id: str, launch_id: str) -> None:
        super().__init__()
        self.run_id = run_id
        self.launch_id = launch_id


class DetailAsked(Message):
    """A row is to be shown in full."""

    def __init__(self, title: str, lines: tuple[str, ...]) -> None:
        super().__init__()
        self.title = title
        self.lines = lines


class LogChoiceAsked(Message):
    """Another log of the node is to be followed: which one is to be asked."""
