"""Lines that only continue the one before: the source line under a traceback's frame, or under a Python warning.

They have no head and no form of their own, only indentation, so no parser can claim them: their place tells what they
are. Ranks interleave, so a few other lines may stand between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.logs.parts import parts
from console.logs.record import UNCLAIMED

if TYPE_CHECKING:
    from console.logs.record import Record

REACH = 16
"""Records behind a frame or a warning within which its source line is looked for: eight ranks write at once."""
_INDENTS = {"traceback": "    ", "python_warning": "  "}
_SOURCE = {"part": "source"}


class Continuation:
    """Follows the records of a log."""

    def __init__(self) -> None:
        self._left: dict[str, int] = {}

    def follow(self, record: Record) -> Record:
        """Return the record, claimed by the kind that it continues if it does."""
        kind = record.kind
        if kind in _INDENTS:
            self._left[kind] = REACH
        elif self._left:
            self._left = {one: left - 1 for one, left in self._left.items() if left > 1}
            if kind == UNCLAIMED:
                return self._claimed(record)
        return record

    def _claimed(self, record: Record) -> Record:
        for kind, indent in _INDENTS.items():
            if kind in self._left and _is_indented(record, indent):
                return record._replace(kind=kind, fields=_SOURCE)
        return record


def _is_indented(record: Record, indent: str) -> bool:
    return parts(record.text)[-1].message.startswith(indent)
