"""What a history says at one moment, frozen and small: it goes from one process to another, and to the screen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from console.logs.hints import hint
from console.logs.record import UNCLAIMED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from console.logs.cycles import CyclePoint, CycleSummary
    from console.logs.history import LogHistory
    from console.logs.phases import LaunchPhase
    from console.logs.series import Point
    from console.logs.shapes import ShapeRow
    from console.logs.stats import DecodeWindow

NAMED = ("model_path", "speculative_draft_model_path")
"""Of `server_args=` what names the checkpoints that widths are judged by."""
POINTS = 320
"""Points of a series: two for each column of a wide screen."""


@dataclass(frozen=True, slots=True)
class LogReading:
    """One reading of a log."""

    version: int
    phase: LaunchPhase
    records: int
    unclaimed: int
    missed_bytes: int
    named: Mapping[str, object] = field(default_factory=dict)
    """NAMED, as the log's last launch printed them; empty while it printed none."""
    rows: tuple[ShapeRow, ...] = ()
    """The shape table, along the flow."""
    hints: tuple[str, ...] = ()
    """Of each row what its numbers of rows mean, empty when nothing is known."""
    left_out: int = 0
    last_at_batch_1: DecodeWindow | None = None
    series: Mapping[str, tuple[Point, ...]] = field(default_factory=dict)
    """By name the newest POINTS, oldest first."""
    cycles: tuple[CyclePoint, ...] = ()
    cycle_summary: CycleSummary | None = None

    @classmethod
    def of(cls, history: LogHistory) -> LogReading:
        rows = history.shapes.rows()
        return cls(
            version=history.version,
            phase=history.phase,
            records=sum(history.counts.values()),
            unclaimed=history.counts[UNCLAIMED],
            missed_bytes=history.missed_bytes,
            named={name: history.server_args[name] for name in NAMED if name in history.server_args},
            rows=rows,
            hints=tuple(hint(row, history.batching) for row in rows),
            left_out=history.shapes.left_out,
            last_at_batch_1=history.stats.last_at_batch_1(),
            series={name: history.series.points(name)[-POINTS:] for name in history.series.names()},
            cycles=history.cycles.points()[-POINTS:],
            cycle_summary=history.cycles.summary(),
        )
