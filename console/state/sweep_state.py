"""Owns the views of sweeps: their points as far as they are measured, and the best of them."""

from __future__ import annotations

from dataclasses import dataclass

Named = tuple[tuple[str, str], ...]
"""Names and values, in the order in which they were asked for."""


@dataclass(frozen=True, slots=True)
class SweepPointView:
    """One launch of a sweep."""

    number: int
    kind: str
    """baseline_start, point or baseline_end."""
    label: str
    state: str
    set: Named = ()
    env: Named = ()
    why: str = ""
    tok_s: float | None = None
    interval: tuple[float, float] | None = None
    """95 %, tok/s."""
    accept_len: float | None = None
    verify_ms: float | None = None
    verify_why: str = ""
    elapsed_s: float = 0.0
    simulated: bool = False
    run_id: str = ""


@dataclass(frozen=True, slots=True)
class BestView:
    """The fastest point, and how sure that is."""

    number: int
    label: str
    tok_s: float | None
    interval: tuple[float, float] | None
    verdict: str = ""
    """Against the baseline; empty without one."""
    why: str = ""
    against: str = ""
    """As "+5.0 % (+3.1 % to +6.9 %)"."""
    second: str = ""
    cant_tell_from: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SweepView:
    """A sweep as it stands."""

    sweep_id: str
    at: float
    profile: str
    state: str
    """planned, running, stopped or done."""
    points: tuple[SweepPointView, ...]
    best: BestView | None = None
    drift: str = ""
    """The baseline's last measurement beside its first, in words; empty before there are two."""
    drifted: bool = False
    why: str = ""
    """Why it stopped before its last point."""
    elapsed_s: float | None = None
    """Since this walk of it began; None for one that is not walked here."""
    left_s: float | None = None
    """What is still to be measured, as estimated."""
    waits_for: str = ""
    """What it said last."""

    @property
    def measured(self) -> int:
        return sum(point.state == "done" for point in self.points)

    @property
    def simulated(self) -> bool:
        return any(point.simulated for point in self.points)

    @property
    def is_finished(self) -> bool:
        return self.state == "done"


@dataclass(frozen=True, slots=True)
class SweepState:
    """Stored sweeps of this node, newest first, and the one that is walked here."""

    stored: tuple[SweepView, ...] = ()
    walked: SweepView | None = None
    """Until the journal has been read after its end."""
    chosen: str = ""
    """The sweep that the user's cursor is on."""

    @property
    def every(self) -> tuple[SweepView, ...]:
        """The walked one stands for itself, first."""
        if self.walked is None:
            return self.stored
        return (self.walked, *(each for each in self.stored if each.sweep_id != self.walked.sweep_id))

    @property
    def shown(self) -> SweepView | None:
        """The walked one, else the chosen one, else the newest."""
        return self.walked or next((each for each in self.stored if each.sweep_id == self.chosen), None) or self._newest

    @property
    def _newest(self) -> SweepView | None:
        return self.stored[0] if self.stored else None
