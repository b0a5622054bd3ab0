"""What a server must accept for each wiring: the table that the node computed, read back as a stranger's."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from console.errors import NegativeResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_BYTES = 4 << 20
TOTAL_LOSS = 1.05
"""Below this accept length hardly a draft was accepted: wirings are not told apart there."""
EAGLE = "algorithm-eagle"
"""The fault that the flag alone makes."""
BLIND = "target-attention-finds-nothing"
"""The fault of the target's attention; with a layer's number behind it, in that layer alone."""
LOST = "attention-lost-after-step-"
"""The fault of the draft's attention in all steps after one, whose number follows."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """One wiring."""

    accept_len: float
    hist: tuple[int, ...]
    """Verifications that accepted 0, 1, … drafts, without zeros at the end, which some servers leave out."""
    outputs: tuple[int, ...] | None = None
    """Layers whose outputs are in fc's slots; -1 is the embedding."""
    other: str = ""
    """The id of a fault that is not in what the slots get."""

    @property
    def is_lost(self) -> bool:
        return self.accept_len < TOTAL_LOSS


@dataclass(frozen=True, slots=True)
class Table:
    """All wirings of a pair, for one request."""

    trained: tuple[int, ...]
    steps: int
    tokens: int
    predictions: tuple[Prediction, ...]

    @property
    def right(self) -> Prediction:
        """The pair wired as it was trained."""
        found = self.of(self.trained)
        if found is None:
            raise NegativeResult("the table of wirings lacks the trained one", "Remove the pair: `agent gc`.")
        return found

    def of(self, outputs: Sequence[int] | None, other: str = "") -> Prediction | None:
        wanted = None if outputs is None else tuple(outputs)
        return next((each for each in self.predictions if (each.outputs, each.other) == (wanted, other)), None)

    def launched(self, algorithm: str) -> Table:
        """What can be of it under this --speculative-algorithm."""
        eagle3 = algorithm == "EAGLE3"
        kept = [each for each in self.predictions if (each.other != EAGLE) is eagle3 or each == self.right]
        return replace(self, predictions=tuple(kept))

    def fitting(self, hist: Sequence[int]) -> tuple[Prediction, ...]:
        """Wirings that give this histogram."""
        seen = trimmed(hist)
        return tuple(each for each in self.predictions if each.hist == seen)

    def fitting_length(self, accept_len: float) -> tuple[Prediction, ...]:
        """Wirings that give this accept length, for a server that tells no histogram."""
        return tuple(each for each in self.predictions if abs(each.accept_len - accept_len) < 5e-4)


def blind_where(other: str) -> str:
    """Of a fault's id: in which layers the target's attention finds nothing; empty: it is another fault."""
    if not other.startswith(BLIND):
        return ""
    return other.removeprefix(BLIND).strip("-").replace("-", " ") or "in all layers"


def trimmed(hist: Sequence[int]) -> tuple[int, ...]:
    """Without zeros at its end."""
    end = max((at + 1 for at, count in enumerate(hist) if count), default=0)
    return tuple(hist[:end])


def read(data: bytes) -> Table:
    """Raises NegativeResult for what the writer cannot have written."""
    try:
        if len(data) > MAX_BYTES:
            raise ValueError(f"{len(data)} bytes")
        told = json.loads(data)
        found = (*_rows(told["wirings"], "outputs"), *_rows(told["others"], "id"))
        return Table(
            tuple(map(int, told["pair"]["trained"])), int(told["ask"]["steps"]), int(told["ask"]["tokens"]), found
        )
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise NegativeResult(f"the pair's table of wirings cannot be read: {error}", "Remove it: `agent gc`.") from None


def _rows(rows: Any, key: str) -> Iterator[Prediction]:
    for row in rows:
        outputs = tuple(map(int, row["outputs"])) if key == "outputs" else None
        other = str(row["id"])[:80] if key == "id" else ""
        yield Prediction(float(row["accept_len"]), trimmed([int(each) for each in row["hist"]]), outputs, other)
