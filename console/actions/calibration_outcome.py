"""What a calibration found, in lines for people and as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from console.calibration import naming
from console.calibration.verdict import Seen, Stage, judge
from console.units import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.calibration.pair import PairSpec
    from console.calibration.table import Prediction, Table
    from console.calibration.wirings import Wired


@dataclass(frozen=True, slots=True)
class CalibrateOutcome:
    """What each launch of a pair gave, and what it should have given."""

    table: Table
    spec: PairSpec
    wired: Wired
    provoked: bool
    seen: tuple[Seen, ...]
    """The profile's own way, then the other one with CUDA graphs where it was asked for."""
    about: dict[str, Any]

    @property
    def meant(self) -> Prediction | None:
        """What is predicted: of the wiring that was made on purpose, else of the trained one; None: a death."""
        if not self.provoked:
            return self.table.right
        if self.wired.other:
            return self.table.of(None, self.wired.other)
        return self.table.of(self.wired.outputs) if self.wired.outputs is not None else None

    @property
    def stages(self) -> tuple[Stage, ...]:
        return judge(self.table, self.spec, self.seen[0], self.seen[1] if len(self.seen) > 1 else None)

    @property
    def died(self) -> bool:
        return any(each.died for each in self.seen)

    @property
    def ok(self) -> bool:
        """Is all as predicted? A fault that was made on purpose must be what was predicted of it."""
        if self.provoked and self.wired.faults:
            return all(each.died for each in self.seen)
        replay = next(each for each in self.stages if each.id == "graph_replay")
        return replay.verdict != "fault" and all(each.is_as(self.table, self.meant) for each in self.seen)

    @property
    def named(self) -> list[str]:
        first = self.seen[0]
        if first.died:
            return [_of_death(first, self.wired)]
        fitting = first.fitting(self.table)
        if not fitting:
            return [f"none of the {len(self.table.predictions)} known wirings gives this"]
        return naming.names(fitting, self.table.trained)

    @property
    def proof(self) -> str:
        first = self.seen[0]
        if first.died:
            return f"{'as predicted, ' if self.ok else ''}{plain(first.died)}"
        got = f"accept_len {first.accept_len:.4f} {list(first.hist or ())}"
        meant = self.meant
        wanted = f"{meant.accept_len:.4f} {list(meant.hist)}" if meant else "a death at start"
        word = "as predicted" if self.ok else "NOT as predicted"
        return f"{word}: {got}, expected {wanted}"

    def lines(self) -> Iterator[str]:
        yield self.proof
        yield from (f"  named: {each}" for each in self.named)
        yield from (f"  {plain(stage.line)}" for stage in self.stages)
        if self.provoked:
            found = "finds" if self.ok else "MISSES"
            yield f"the fault was made on purpose ({self.wired.told}): the verdict {found} it"

    def to_json(self) -> dict[str, Any]:
        meant = self.meant
        return {
            **self.about,
            "expected": {"accept_len": meant.accept_len, "hist": list(meant.hist)} if meant else None,
            "got": [_seen_json(each) for each in self.seen],
            "as_predicted": self.ok,
            "named": self.named,
            "stages": [each.to_json() for each in self.stages],
        }


@dataclass(frozen=True, slots=True)
class SawOutcome:
    """The wirings that give a histogram."""

    table: Table
    arch: str
    hist: tuple[int, ...]

    @property
    def ok(self) -> bool:
        return bool(self.table.fitting(self.hist))

    def lines(self) -> Iterator[str]:
        yield from naming.lines(self.table, self.hist)

    def to_json(self) -> dict[str, Any]:
        found = self.table.fitting(self.hist)
        return {
            "arch": self.arch,
            "saw": list(self.hist),
            "known": len(self.table.predictions),
            "fitting": len(found),
            "named": list(self.lines()),
            "outputs": [list(each.outputs) for each in found if each.outputs is not None],
        }


def _of_death(seen: Seen, wired: Wired) -> str:
    """The wiring that a death proves."""
    proved = {
        "ids-out-of-range": "a layer, or the embedding, that this target cannot give is to be captured",
        "captures-mismatch": "other than three states are captured",
        "draft-vocab": "the draft's vocabulary does not fit its weights or its target",
        "algorithm-for-eagle3": "the algorithm is not that of an EAGLE-3 draft",
    }.get(seen.rule, "no known wiring does this: it is something else")
    return f"{proved}{f' ({seen.rule})' if seen.rule else ''}: {plain(seen.died)[:200]}"


def _seen_json(seen: Seen) -> dict[str, Any]:
    return {
        "graphs": seen.graphs,
        "accept_len": seen.accept_len,
        "hist": None if seen.hist is None else list(seen.hist),
        "died": seen.died,
        "rule": seen.rule,
    }
