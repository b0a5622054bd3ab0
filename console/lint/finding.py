"""One finding."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Literal

_NODE = re.compile(r"\bNODE\b")

Severity = Literal["error", "warn", "info"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule found: what, where, what to do; an error stops a launch unless `rule` is allowed."""

    rule: str
    severity: Severity
    message: str
    hint: str = ""
    evidence: str = ""
    offset: int | None = None
    """Byte of the log at which the evidence begins; None for what is not of a log."""

    def on(self, node: str) -> Finding:
        """The finding with the node's name where its hint writes a command for NODE."""
        return replace(self, hint=for_node(self.hint, node))

    def to_json(self) -> dict[str, Any]:
        return {
            "rule": self.rule,
            "severity": self.severity,
            "message": self.message,
            "hint": self.hint,
            "evidence": self.evidence,
            **({} if self.offset is None else {"offset": self.offset}),
        }


def for_node(text: str, node: str) -> str:
    """A sentence with the node's name where it writes a command for NODE."""
    return _NODE.sub(lambda _match: node, text)
