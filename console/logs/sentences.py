"""Sentences with slots: how parsers write a fixed message whose numbers they want.

`got (<a:int>x<b:int>)` is a regular expression in which each `<name:kind>` stands for a value of that kind.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from console.logs.parser import Fields

_SLOT = re.compile(r"<(\w+):(int|dims|size|word|text|long)>")
_SLOT_PATTERNS = {
    "int": r"-?\d{1,15}",
    "dims": r"(?:-?\d{1,15}(?:, ?-?\d{1,15}){0,15},?)?",
    "size": r"[\d.]{1,20} [KMGT]iB",
    "word": r"[\w.-]{1,200}",
    "text": r".{1,300}",
    "long": r".{1,4000}",
}
HOLDER = (
    r"(?: \w{1,60} is used by a process already\. process\.name\(\)='[^']{0,80}'{1,2} "
    r"process\.cmdline\(\)=\[<holder:long>\] process\.status\(\)='<holder_status:word>'(?: pid=<holder_pid:int>)?)?"
)
"""How SGLang names who holds a port (srt/utils, from 0.5.9); the second quote behind the name is its own."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A message that is told by a fixed piece of its text and read by a pattern."""

    hint: str
    pattern: re.Pattern[str]
    slots: Mapping[str, str]

    def read(self, message: str) -> Fields | None:
        """Return the values of the slots that are present, or None when `message` does not hold the sentence."""
        if self.hint not in message:
            return None
        match = self.pattern.search(message)
        if match is None:
            return None
        return {name: _value(kind, match[name]) for name, kind in self.slots.items() if match[name] is not None}


def sentence(hint: str, template: str = "") -> Sentence:
    """Compile a template; without one the hint itself is the sentence."""
    pattern = _SLOT.sub(lambda slot: f"(?P<{slot[1]}>{_SLOT_PATTERNS[slot[2]]})", template or re.escape(hint))
    return Sentence(hint, re.compile(pattern), dict(_SLOT.findall(template)))


def _value(kind: str, text: str) -> object:
    if kind == "int":
        return int(text)
    if kind == "dims":
        return tuple(int(number) for number in text.split(",") if number.strip())
    return text
