"""What connecting may have to ask the person at the keyboard: the seam between transports and whoever shows it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Question:
    """One question of the node, of a jump host or of a key: hostile text, to be shown plain."""

    text: str
    secret: bool = True
    """Whether the answer must not be seen while it is typed."""
    answered: bool = True
    """False: it only tells something, such as that a hardware key waits to be touched."""


Ask = Callable[[Question], Coroutine[Any, Any, str | None]]
"""Show a question and return the answer; None when the user gives none."""
