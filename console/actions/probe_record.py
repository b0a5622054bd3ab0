"""What a probe's run record on the node holds, so that a console that did not start it can finish the stored run."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from console.probe.device_timer import TimerReading
from console.probe.fingerprint import Fingerprint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remote_agent.protocol import ProbeRun


@dataclass(frozen=True, slots=True)
class StopRule:
    """When an adaptive run has enough blocks."""

    half_width: float
    least_blocks: int
    baseline: tuple[float, ...] = ()
    """Throughput of the baseline's blocks, tok/s."""

    @property
    def against(self) -> tuple[float, ...] | None:
        """What the interval of the difference is taken with; None: the interval is that of the run's own mean."""
        return self.baseline if len(self.baseline) > 1 else None


@dataclass(frozen=True, slots=True)
class ProbeRecord:
    """Provenance of a run that is under way. It holds no secret."""

    profile: str
    profile_hash: str
    launch_id: str
    fingerprint: Fingerprint
    kind: str = "probe"
    server_log: str = ""
    """The file that the server writes; empty where it is not known."""
    log_problem: str = ""
    """Why it is not known."""
    baseline_id: str = ""
    """A stored run that this one may be held against; empty without one."""
    stop_rule: StopRule | None = None
    """None: the number of blocks was given."""
    timer: TimerReading | None = None
    """The server's device timer before the warm-up."""
    timer_why: str = ""
    """Why it was not read."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def record_of(probe: ProbeRun) -> ProbeRecord | None:
    """Read the record of a probe; None where it is not one of ours, or of a console too old to keep it."""
    told = probe.record.get("run")
    if not isinstance(told, dict):
        return None
    try:
        return _read(told)
    except (TypeError, ValueError, AttributeError, KeyError):
        return None


def _read(told: Mapping[str, Any]) -> ProbeRecord:
    rule, timer = told.get("stop_rule"), told.get("timer")
    texts = ("profile", "profile_hash", "launch_id", "kind", "server_log", "log_problem", "baseline_id")
    return ProbeRecord(
        **{name: str(told[name]) for name in texts},
        fingerprint=Fingerprint.from_json(told["fingerprint"]),
        stop_rule=None if rule is None else _rule(rule),
        timer=None if timer is None else TimerReading.from_json(timer),
        timer_why=str(told.get("timer_why", "")),
    )


def _rule(told: Mapping[str, Any]) -> StopRule:
    baseline = tuple(float(rate) for rate in told["baseline"])
    return StopRule(float(told["half_width"]), int(told["least_blocks"]), tuple(rate for rate in baseline if rate > 0))
