"""What a log parser is: the contract of the modules in `console/logs/parsers/`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

Fields = dict[str, object]

START_LENGTH = 6
"""Characters by which the starts of messages are looked up."""


@dataclass(frozen=True, slots=True)
class Parser:
    """One kind of record."""

    kind: str
    """The kind, equal to the module's name."""
    parse: Callable[[str], Fields | None]
    """The fields of a message (the line without wrappers and head), or None when it is of another kind.

    It must run in linear time on any text: bound every repeat of its patterns.
    """
    starts: tuple[str, ...] = ()
    """How messages of this kind may begin, START_LENGTH characters or more each: the cheapest way to be found."""
    hints: tuple[str, ...] = ()
    """Words of which each message without such a start holds at least one. Coarse is fine: few are better."""
    marker: str = ""
    """How each message of this kind begins, and of no other: `[NAME] `. Such a line is not taken apart to be found."""
