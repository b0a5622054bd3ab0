"""Owns how a sweep came out: the drift of its baseline, its best point, and how sure both are."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from console.probe.differences import differs
from console.probe.stats import contrast, half_width
from console.units import format_percent, format_rate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from console.probe.stats import Contrast, Verdict
    from console.probe.stored import StoredRun
    from console.probe.sweep import SweepPoint


@dataclass(frozen=True, slots=True)
class Against:
    """One point beside another; the difference is relative, 0.05 is five per cent faster."""

    verdict: Verdict | Literal["withheld"]
    why: str
    contrast: Contrast

    def to_json(self) -> dict[str, Any]:
        found = self.contrast
        interval = list(found.interval) if found.interval else None
        told = {"difference": found.difference, "interval": interval, "detectable": found.detectable}
        return {"verdict": self.verdict, "why": self.why, **told, "n": list(found.n)}

    def text(self) -> str:
        """As "+5.0 % (+3.1 to +6.9)"."""
        found = self.contrast
        if found.interval is None:
            return format_percent(found.difference, signed=True)
        low, high = (format_percent(each, signed=True) for each in found.interval)
        return f"{format_percent(found.difference, signed=True)} ({low} to {high})"


@dataclass(frozen=True, slots=True)
class Best:
    """The fastest point, and how sure that is."""

    point: SweepPoint
    against_baseline: Against | None
    second: SweepPoint | None = None
    against_second: Against | None = None
    cant_tell_from: tuple[int, ...] = ()
    """Numbers of the points that may be as fast: the difference is within the noise of the blocks."""

    def lines(self) -> Iterator[str]:
        yield f"best: {self.point.line().strip()}"
        if self.against_baseline:
            why = f" ({self.against_baseline.why})" if self.against_baseline.why else ""
            yield f"  against the baseline {self.against_baseline.verdict}{why}: {self.against_baseline.text()}"
        if self.second and self.against_second:
            found = self.against_second
            yield f"  against the second, {self.second.label}: {found.verdict}, {found.text()}"
        if self.cant_tell_from:
            yield f"  can't tell it from {', '.join(map(str, self.cant_tell_from))}: more blocks would (probe.blocks)"

    def to_json(self) -> dict[str, Any]:
        return {
            **self.point.to_json(),
            "against_baseline": self.against_baseline.to_json() if self.against_baseline else None,
            "second": self.second.number if self.second else None,
            "against_second": self.against_second.to_json() if self.against_second else None,
            "cant_tell_from": list(self.cant_tell_from),
        }


@dataclass(frozen=True, slots=True)
class SweepOutcome:
    """A sweep as it stands: at its end, and after every step of it for who draws it."""

    sweep_id: str
    profile: str
    points: tuple[SweepPoint, ...]
    drift: Against | None = None
    """The baseline's last measurement beside its first."""
    best: Best | None = None
    stopped: str = ""
    """Why it ended before its last point; empty where it did not."""
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """It went through, and something was measured."""
        return self.best is not None and not self.stopped

    @property
    def proof(self) -> str:
        swept = [point for point in self.points if point.kind == "point"]
        told = f"sweep {self.sweep_id}: {sum(p.state == 'done' for p in swept)} of {len(swept)} points measured"
        if self.best:
            told += f"; best {self.best.point.label}, {format_rate(_rate(self.best.point))}"
            if self.best.cant_tell_from:
                told += f", can't tell from {', '.join(map(str, self.best.cant_tell_from))}"
        return f"{told}; stopped: {self.stopped}" if self.stopped else told

    def at(self, number: int) -> SweepPoint:
        return self.points[number - 1]

    def with_point(self, point: SweepPoint) -> SweepOutcome:
        return replace(self, points=(*self.points[: point.number - 1], point, *self.points[point.number :]))

    def lines(self) -> Iterator[str]:
        if self.drift:
            moved = "no drift seen" if self.drift.verdict == "cant_tell" else "THE NODE DRIFTED"
            yield f"baseline, again against first: {moved}, {self.drift.text()}"
        if self.best:
            yield from self.best.lines()
        yield from (f"note: {note}" for note in self.notes)
        yield self.proof

    def to_json(self) -> dict[str, Any]:
        by_kind = {point.kind: point for point in self.points if point.kind != "point"}
        start, end = by_kind.get("baseline_start"), by_kind.get("baseline_end")
        return {
            "sweep": {"id": self.sweep_id, "profile": self.profile, "stopped": self.stopped},
            "points": [point.to_json() for point in self.points if point.kind == "point"],
            "baseline": {
                "start": start.to_json() if start else None,
                "end": end.to_json() if end else None,
                "drift": self.drift.to_json() if self.drift else None,
            },
            "best": self.best.to_json() if self.best else None,
            "notes": list(self.notes),
        }


def _rate(point: SweepPoint) -> float | None:
    return point.run.output_tok_s if point.run else None


def throughput_interval(blocks: Sequence[float]) -> tuple[float, float] | None:
    """The 95 % interval of a run's throughput, tok/s, around the geometric mean of its blocks."""
    width = half_width(None, blocks)
    if width is None:
        return None
    mean = math.exp(math.fsum(map(math.log, blocks)) / len(blocks))
    return mean / (1 + width), mean * (1 + width)


def judged(outcome: SweepOutcome, runs: Mapping[str, StoredRun], varies: Sequence[str]) -> SweepOutcome:
    """The outcome with its drift and its best point, from what was measured so far.

    `runs` are the stored runs of its points by id; `varies` is what the sweep declares to differ from the baseline.
    The baseline of a verdict is both its launches together, so that what differs from launch to launch counts as noise.
    """
    baselines = [run for point in outcome.points if point.kind != "point" if (run := _run(point, runs))]
    drift = _against(baselines[0], baselines[1], ()) if len(baselines) == 2 else None
    ranked = sorted(
        (point for point in outcome.points if point.kind == "point" and _run(point, runs)),
        key=lambda point: -(_rate(point) or 0.0),
    )
    return replace(outcome, drift=drift, best=_best(ranked, baselines, runs, varies) if ranked else None)


def _best(
    ranked: Sequence[SweepPoint], baselines: Sequence[StoredRun], runs: Mapping[str, StoredRun], varies: Sequence[str]
) -> Best:
    top, *rest = ranked
    found = runs[_id(top)]
    others = {point.number: _against(runs[_id(point)], found, varies) for point in rest}
    second = rest[0] if rest else None
    return Best(
        point=top,
        against_baseline=_against(baselines[0], found, varies, baselines[1:]) if baselines else None,
        second=second,
        against_second=others[second.number] if second else None,
        cant_tell_from=tuple(number for number, each in sorted(others.items()) if each.contrast.verdict != "faster"),
    )


def _against(a: StoredRun, b: StoredRun, varies: Sequence[str], more: Sequence[StoredRun] = ()) -> Against:
    blocks = [*a.result.blocks, *(block for run in more for block in run.result.blocks)]
    found = contrast(blocks, b.result.blocks)
    undeclared = [each.key for each in differs(a.fingerprint, b.fingerprint, varies) if each.withholds]
    if undeclared:
        return Against("withheld", f"something differs that was not swept: {', '.join(undeclared)}", found)
    return Against(found.verdict, found.why, found)


def _run(point: SweepPoint, runs: Mapping[str, StoredRun]) -> StoredRun | None:
    return runs.get(_id(point)) if point.state == "done" else None


def _id(point: SweepPoint) -> str:
    return point.run.run_id if point.run else ""
