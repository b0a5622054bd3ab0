"""The log's own time: what heads print, as seconds."""

from __future__ import annotations

import re
from functools import lru_cache

_TIME = re.compile(r"\d{4}-\d\d-(\d\d) (\d\d):(\d\d):(\d\d)(\.\d{3})?$")


class LogClock:
    """Follows the times of heads. They may go back: a server of another day, ranks a little apart."""

    def __init__(self) -> None:
        self.seconds: float | None = None
        """Since the start of the month; None before the first head."""

    def read(self, ts: str) -> None:
        """Take in a printed time; one of another form says nothing."""
        seconds = _seconds(ts)
        self.seconds = self.seconds if seconds is None else seconds


@lru_cache(maxsize=256)
def _seconds(ts: str) -> float | None:
    time = _TIME.match(ts)
    if time is None:
        return None
    days, hours, minutes, seconds = (int(part) for part in time.groups()[:4])
    return days * 86400 + hours * 3600 + minutes * 60 + seconds + float(time[5] or 0)
