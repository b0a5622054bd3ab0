"""What one pair of configs captures in each release: where an upgrade changes it, and which release a draft fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from console.wiring import targets
from console.wiring.layers import Captures, resolve

if TYPE_CHECKING:
    from console.wiring.checkpoint import Config


@dataclass(frozen=True, slots=True)
class Stretch:
    """Releases that were read, one after the other, in which the same is captured."""

    first: str
    last: str
    eager: Captures

    @property
    def when(self) -> str:
        """In words, as "up to 0.5.12.post1" or "from 0.5.13"."""
        if self.last == targets.READ[-1]:
            return f"from {self.first}"
        return f"on {self.first}" if self.first == self.last else f"from {self.first} to {self.last}"


def timeline(target: Config, draft: Config) -> tuple[Stretch, ...]:
    """Releases that do not read ids, or of which nothing is known, are left out; empty for an unknown target."""
    found: list[Stretch] = []
    for version in targets.READ:
        resolved = resolve(version, target, draft)
        eager = resolved.eager
        if eager is None or (resolved.rule is not None and resolved.rule.shift == "fixed"):
            continue
        if found and found[-1].eager == eager:
            found[-1] = Stretch(found[-1].first, version, eager)
        else:
            found.append(Stretch(version, version, eager))
    return tuple(found)
