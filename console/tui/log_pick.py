"""Which log of the node is meant."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LogPick:
    """A log that was picked; without a path the newest server's of this operator, whichever that is."""

    path: str = ""
    run_id: str = ""
    """Of the server that writes it: its record then says what the widths are judged by."""

    @property
    def name(self) -> str:
        return self.path or "the newest server's log"
