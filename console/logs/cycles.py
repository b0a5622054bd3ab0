"""How long the stages of a speculative cycle took, from `eagle3-cycle` records: draft, verify, extend.

Ranks run one cycle together: the points are those of the lowest rank that speaks, the others' medians stand beside it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from console.logs.series import Points, Series

if TYPE_CHECKING:
    from console.logs.record import Record

RANKS_LIMIT = 256
STAGES = ("draft_ms", "verify_ms", "extend_ms")


@dataclass(frozen=True, slots=True)
class CyclePoint:
    """One cycle, or the mean of several neighbours; milliseconds."""

    offset: int
    ts: str | None
    draft_ms: float
    verify_ms: float
    extend_ms: float
    other_ms: float
    """What is left of the cycle."""
    cycle_ms: float
    count: int


@dataclass(frozen=True, slots=True)
class CycleSummary:
    """Over all cycles of one rank, medians where nothing else is said; milliseconds, None for what never ran."""

    count: int
    cycle_ms: float
    draft_ms: float | None
    verify_ms: float | None
    extend_ms: float | None
    verify_share: float
    """Of the cycle's time, 0 to 1."""
    clock: str | None
    """`cuda`: events on the stream; `host`: the time of the call."""
    gap_ms: float | None = None
    """From the end of a cycle to the start of the next: the scheduler's own time, which a client waits too."""
    round_ms: float | None = None
    """Mean of a cycle and the gap before it. A client's cycle time is a mean too; medians of parts add up to less."""


class Cycles:
    """Folds cycle records. A call without a verify is a prefill, and no cycle."""

    def __init__(self) -> None:
        self.rank: int | None = None
        """Whose cycles the points are."""
        self.errors = 0
        """Records by which the instrument told that it failed."""
        self._clear()

    def _clear(self) -> None:
        self._points = {name: Points() for name in (*STAGES, "cycle_ms")}
        self._totals = {name: Series() for name in (*STAGES, "cycle_ms")}
        self._gap, self._rounds, self._rounds_ms = Series(), 0, 0.0
        self._ranks: dict[int, Series] = {}
        self._clock: str | None = None

    def clear(self) -> None:
        """A new launch."""
        self.rank, self.errors = None, 0
        self._clear()

    def fold(self, record: Record, ts: str | None = None) -> None:
        """Take in a record of kind `eagle3_cycle`; `ts`: the log's time, which the record does not have."""
        fields = record.fields
        if "error" in fields:
            self.errors += 1
            return
        verify, cycle = fields.get("verify_ms"), fields.get("cycle_ms")
        if not isinstance(verify, float) or not isinstance(cycle, float):
            return
        rank = record.rank or 0
        if self.rank is None or rank < self.rank:
            ranks = self._ranks
            self._clear()
            self.rank, self._ranks = rank, ranks
        if rank in self._ranks or len(self._ranks) < RANKS_LIMIT:
            self._ranks.setdefault(rank, Series()).add(cycle)
        if rank == self.rank:
            self._take(record, fields, ts)

    def points(self) -> tuple[CyclePoint, ...]:
        """Oldest first."""
        draft, verify, extend, cycle = (points.all() for points in self._points.values())
        return tuple(
            CyclePoint(
                *(whole.offset, whole.ts, d.value, v.value, e.value),
                max(0.0, whole.value - d.value - v.value - e.value),
                whole.value,
                whole.count,
            )
            for d, v, e, whole in zip(draft, verify, extend, cycle, strict=True)
        )

    def summary(self) -> CycleSummary | None:
        """None before the first cycle."""
        whole, verify = self._totals["cycle_ms"].median, self._totals["verify_ms"].median
        if whole is None:
            return None
        draft, extend = self._totals["draft_ms"].median, self._totals["extend_ms"].median
        share = min(1.0, (verify or 0.0) / whole) if whole > 0 else 0.0
        count, gap = self._totals["cycle_ms"].count, self._gap.median
        mean = self._rounds_ms / self._rounds if self._rounds else None
        return CycleSummary(count, whole, draft, verify, extend, share, self._clock, gap, mean)

    def by_rank(self) -> dict[int, float]:
        """Median milliseconds of each rank's cycles: a rank that is slower than the others keeps them waiting."""
        return {rank: series.median for rank, series in sorted(self._ranks.items()) if series.median is not None}

    def totals(self) -> dict[str, object]:
        """`draft_ms`, `verify_ms`, `extend_ms` and `cycle_ms` of `stats`, each as a series tells itself, or None."""
        return {name: total.to_json() for name, total in self._totals.items()}

    def to_json(self) -> dict[str, object] | None:
        summary = self.summary()
        if summary is None:
            return None
        return {**asdict(summary), "rank": self.rank, "by_rank": {str(rank): ms for rank, ms in self.by_rank().items()}}

    def _take(self, record: Record, fields: Any, ts: str | None) -> None:
        for name, points in self._points.items():
            number = fields.get(name)
            points.add(record.offset, record.ts or ts, number if isinstance(number, float) else 0.0)
            if isinstance(number, float):
                self._totals[name].add(number)
        if isinstance(gap := fields.get("gap_ms"), float):
            self._gap.add(gap)
            self._rounds, self._rounds_ms = self._rounds + 1, self._rounds_ms + fields["cycle_ms"] + gap
        clock = fields.get("clock")
        self._clock = clock if isinstance(clock, str) else self._clock
