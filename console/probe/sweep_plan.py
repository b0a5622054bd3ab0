"""Owns the plan of a sweep: what would be launched in which order, how long it takes, what the budget leaves out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from console.units import format_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.probe.sweep import SweepPoint


@dataclass(frozen=True, slots=True)
class Estimate:
    """How long the parts of one point take, seconds, and where that is known from. None: nobody measured it yet."""

    launch_s: float | None = None
    probe_s: float | None = None
    cycle_s: float = 0.0
    """What `--cycle` adds to a point with speculation: a second launch and a short probe."""
    source: str = ""

    @property
    def point_s(self) -> float | None:
        if self.launch_s is None or self.probe_s is None:
            return None
        return self.launch_s + self.probe_s + STOP_S


STOP_S = 10.0
"""A server of eight ranks drains, ends and gives its memory back within 5 to 6 s (seen on H200)."""


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """Everything a sweep would do; nothing has been started yet."""

    sweep_id: str
    node: str
    profile: str
    baseline: str
    """The profile that is measured first and last."""
    points: tuple[SweepPoint, ...]
    """In the order of measurement, both baselines among them; those that cannot run are failed already."""
    axes: tuple[str, ...]
    """Each axis in words."""
    estimate: Estimate
    budget_s: float | None = None
    resumed: bool = False
    notes: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Combinations of the axes."""
        return sum(point.kind == "point" for point in self.points)

    @property
    def waiting(self) -> tuple[SweepPoint, ...]:
        return tuple(point for point in self.points if point.state in ("waiting", "running"))

    @property
    def total_s(self) -> float | None:
        """Seconds for what is still to be measured; None where it is not known."""
        one = self.estimate.point_s
        if one is None:
            return None
        swept = sum(point.kind == "point" for point in self.waiting)
        return one * len(self.waiting) + self.estimate.cycle_s * swept

    def lines(self) -> Iterator[str]:
        yield f"sweep {self.sweep_id} of {self.profile} on {self.node}: {self.size} points = {' × '.join(self.axes)}"
        yield f"each is launched, read back and probed the same way; {self.baseline} is measured first and last"
        yield f"{len(self.waiting)} launches to do, {self._time()}"
        if self.budget_s is not None:
            told = "no point is begun that would end after it; the last baseline is measured in any case"
            yield f"budget {self.budget_s / 60:g} min: {told}"
        yield from (point.line() for point in self.points)
        yield from (f"note: {note}" for note in self.notes)

    def _time(self) -> str:
        if self.total_s is None:
            return "how long one takes is not known before the first is measured"
        return f"about {format_seconds(self.total_s)} ({self.estimate.source})"

    def to_json(self) -> dict[str, Any]:
        return {
            "sweep": {"id": self.sweep_id, "profile": self.profile, "baseline": self.baseline, "size": self.size},
            "estimated_s": self.total_s,
            "points": [point.to_json() for point in self.points if point.kind == "point"],
            "notes": list(self.notes),
        }
