"""Owns the points of a sweep: what each launches, and what was measured of it. The journal keeps them as JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from console.probe.json_form import known_fields
from console.units import NONE, format_number, format_rate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from console.probe.stored import StoredRun

PointState = Literal["waiting", "running", "done", "failed", "left_out"]
PointKind = Literal["baseline_start", "point", "baseline_end"]
SweepState = Literal["planned", "running", "stopped", "done"]

SHORT = {
    "speculative.num_steps": "steps",
    "speculative.num_draft_tokens": "draft tokens",
    "speculative.eagle_topk": "topk",
}
"""Names of the keys that are swept most, for a line of a table."""


@dataclass(frozen=True, slots=True)
class RunSummary:
    """The stored run of a point, as far as a table needs it; None is "not measured"."""

    run_id: str
    output_tok_s: float | None = None
    accept_len: float | None = None
    cycle_ms: float | None = None
    ttft_ms: float | None = None
    blocks: tuple[float, ...] = ()
    """Throughput of each block, tok/s."""
    simulated: bool = False

    @classmethod
    def of(cls, run: StoredRun) -> RunSummary:
        result = run.result
        ttft = result.ttft_ms.mean if result.ttft_ms else None
        simulated = run.fingerprint.simulated
        return cls(run.run_id, result.output_tok_s, result.accept_len, result.cycle_ms, ttft, result.blocks, simulated)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RunSummary:
        """Rebuild from `to_json`. Raises TypeError or KeyError for what is none."""
        return cls(**{**known_fields(cls, data, {"blocks": tuple}), "run_id": data["id"]})

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.run_id,
            "output_tok_s": self.output_tok_s,
            "accept_len": self.accept_len,
            "cycle_ms": self.cycle_ms,
            "ttft_ms": self.ttft_ms,
            "blocks": list(self.blocks),
            "simulated": self.simulated,
        }


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """One launch to measure: a combination of the axes, or the baseline, which is measured first and last."""

    number: int
    """Place in the order of measurement, from 1."""
    kind: PointKind
    set: Mapping[str, Any] = field(default_factory=dict)
    """Keys of the profile, dotted; None takes a key away."""
    env: Mapping[str, str | None] = field(default_factory=dict)
    """Variables of the server; None: not set."""
    state: PointState = "waiting"
    why: str = ""
    """Why it failed or was left out."""
    died: bool = False
    """It failed because its server died."""
    launch_id: str = ""
    """Run id of its server."""
    run: RunSummary | None = None
    interval: tuple[float, float] | None = None
    """95 % of its throughput, tok/s, over its blocks; None with fewer than two."""
    verified: str = ""
    """What was read back of the launched processes."""
    verify_ms: float | None = None
    """Median of the target's verify in a cycle, milliseconds."""
    verify_why: str = ""
    """Where verify_ms comes from, or why there is none."""
    elapsed_s: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def tried(self) -> bool:
        """It was begun; one that cannot be never is."""
        return self.elapsed_s > 0

    @property
    def label(self) -> str:
        """As "steps 2, NCCL_PROTO=LL"."""
        if self.kind != "point":
            return "baseline, first" if self.kind == "baseline_start" else "baseline, again"
        words = [f"{name} {value}" for name, value in self.named]
        words += [f"{name} unset" if value is None else f"{name}={value}" for name, value in self.env.items()]
        return ", ".join(words)

    @property
    def named(self) -> tuple[tuple[str, str], ...]:
        """Its keys by their short names, and their values as text; without what follows from others."""
        swept = ((key, value) for key, value in self.set.items() if not self._follows(key))
        return tuple((SHORT.get(key, key), _text(value)) for key, value in swept)

    def _follows(self, key: str) -> bool:
        """Draft tokens that go with the steps say nothing more."""
        steps = self.set.get("speculative.num_steps")
        return key == "speculative.num_draft_tokens" and type(steps) is int and self.set[key] == steps + 1

    def line(self) -> str:
        """One row: what it is, how fast, or why not."""
        head = f"{self.number:>3} {self.label}"
        if self.state in ("failed", "left_out"):
            return f"{head}: {self.state.replace('_', ' ')}: {self.why}"
        if self.run is None:
            return f"{head}: {self.state}"
        spread = f" ({self.interval[0]:.1f} to {self.interval[1]:.1f})" if self.interval else ""
        length = f", accept_len {format_number(self.run.accept_len)}" if self.run.accept_len is not None else ""
        verify = f", verify {self.verify_ms:.1f} ms" if self.verify_ms is not None else ""
        simulated = " SIMULATED" if self.run.simulated else ""
        return f"{head}: {format_rate(self.run.output_tok_s)}{spread}{length}{verify}{simulated}"

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> SweepPoint:
        """Rebuild from `to_json`. Raises TypeError, ValueError, AttributeError or KeyError for what is none."""
        return cls(**known_fields(cls, data, _CONVERT))

    def to_json(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "kind": self.kind,
            "set": dict(self.set),
            "env": dict(self.env),
            "state": self.state,
            "why": self.why,
            "died": self.died,
            "launch_id": self.launch_id,
            "run": self.run.to_json() if self.run else None,
            "interval": list(self.interval) if self.interval else None,
            "verified": self.verified,
            "verify_ms": self.verify_ms,
            "verify_why": self.verify_why,
            "elapsed_s": round(self.elapsed_s, 1),
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class StoredSweep:
    """A sweep as the journal keeps it: enough to go on with it in another process."""

    sweep_id: str
    at: float
    """Wall clock of its plan, seconds since 1970."""
    node: str
    profile: str
    request: Mapping[str, Any]
    state: SweepState
    points: tuple[SweepPoint, ...]

    @property
    def measured(self) -> int:
        return sum(point.state == "done" for point in self.points)


def _text(value: Any) -> str:
    return NONE if value is None else str(value)


def _summary(data: Mapping[str, Any] | None) -> RunSummary | None:
    return None if data is None else RunSummary.from_json(data)


_CONVERT: dict[str, Callable[[Any], Any]] = {
    "run": _summary,
    "interval": lambda value: None if value is None else (float(value[0]), float(value[1])),
    "notes": tuple,
    "set": dict,
    "env": dict,
}
