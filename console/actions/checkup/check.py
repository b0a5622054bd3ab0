"""One line of the doctor: what was measured, how it is, what to do next. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from console.units import plain

if TYPE_CHECKING:
    from collections.abc import Iterable

State = Literal["ok", "warn", "bad", "unknown"]
"""unknown: it could not be measured, and `told` says why; never used for a reading."""

SHOWN = 200
"""Characters of foreign text in a line."""


@dataclass(frozen=True, slots=True)
class Check:
    """`id` names what was looked at, "link.round-trip"; `values` are the readings, times in seconds, sizes in bytes."""

    id: str
    state: State
    told: str
    hint: str = ""
    values: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def lines(self) -> list[str]:
        head = f"{self.state:8} {self.id:18} {self.told}"
        return [head, f"{'':8} {'':18} → {self.hint}"] if self.hint else [head]


Tell = Callable[[Check], None]
"""Hand a check over as soon as it was made: what follows may fail."""


def shown(foreign: str | bytes) -> str:
    """Foreign text in a line of ours: every control character visible, cut at SHOWN characters."""
    text = foreign.decode("utf-8", "replace") if isinstance(foreign, bytes) else foreign
    cut = plain(text[:SHOWN])
    return f"{cut}… ({len(text)} characters)" if len(text) > SHOWN else cut


def worst(checks: Iterable[Check]) -> State:
    """The worst state of all; unknown is worse than ok, and better than a warning."""
    order: tuple[State, ...] = ("ok", "unknown", "warn", "bad")
    return max((each.state for each in checks), key=order.index, default="ok")
