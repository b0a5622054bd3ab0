"""Ends an agent that nobody talks to any more.

A link that dies without a word (a cable, a suspended laptop that moved) leaves no EOF behind: sshd and the agent would
wait for hours. A console sends something every five seconds, whatever it does.
"""

from __future__ import annotations

import contextlib
import signal
from typing import Any, Iterator

SILENT_S = 900.0
"""Long enough for a laptop that was closed over lunch: its connection may still be good."""


class Silent(Exception):
    """Nothing was heard for SILENT_S."""


@contextlib.contextmanager
def limit() -> Iterator[None]:
    """Raise Silent in the main thread, which reads the wire, unless something is `heard` in time."""
    signal.signal(signal.SIGALRM, _raise)
    signal.setitimer(signal.ITIMER_REAL, SILENT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def heard() -> None:
    """Begin to wait anew."""
    signal.setitimer(signal.ITIMER_REAL, SILENT_S)


def _raise(_number: int, _frame: Any) -> None:
    raise Silent
