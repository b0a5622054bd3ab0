"""Owns the comparison of two stored runs: both numbers always, every difference, a verdict only where one is due."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from console.probe.differences import Difference, differs
from console.probe.metrics import break_even_accept_len
from console.probe.stats import CONFIDENCE, Contrast, contrast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.probe.fingerprint import Fingerprint
    from console.probe.stored import StoredRun

Verdict = Literal["faster", "slower", "cant_tell", "withheld"]

CYCLE_FORMULA = "tok/s of one stream = accept_len / cycle time; break-even accept_len = cycle time / baseline step"

_SWITCHES = (
    ("SGLANG_SIMULATE_ACC_LEN", "acceptance is simulated"),
    ("EAGLE3_DEBUG", "debug build: not a benchmark"),
)
_FLAGS = (("--disable-cuda-graph", "CUDA graphs off: not a benchmark"),)


@dataclass(frozen=True, slots=True)
class CycleArithmetic:
    """Why a candidate is as fast as it is, for one stream; None where a part was not measured."""

    accept_len: float | None
    cycle_ms: float | None
    tok_s: float | None
    """1000 * accept_len / cycle_ms."""
    baseline_step_ms: float | None
    break_even_accept_len: float | None
    """Accept length from which this cycle would beat the baseline."""
    formula: str = CYCLE_FORMULA


@dataclass(frozen=True, slots=True)
class Comparison:
    """Candidate against baseline."""

    verdict: Verdict
    why: str
    """Why there is no verdict; empty for faster and slower."""
    baseline: StoredRun
    candidate: StoredRun
    contrast: Contrast
    """The statistics, shown under a withheld verdict too."""
    differs: tuple[Difference, ...]
    cycle: CycleArithmetic
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the fields of the CLI's `compare`."""
        return {
            "verdict": self.verdict,
            "why": self.why,
            "baseline": _side(self.baseline),
            "candidate": _side(self.candidate),
            "difference": self.contrast.difference,
            "interval": list(self.contrast.interval) if self.contrast.interval else None,
            "confidence": CONFIDENCE,
            "detectable": self.contrast.detectable,
            "n": list(self.contrast.n),
            "differs": [asdict(difference) for difference in self.differs],
            "cycle": asdict(self.cycle),
            "notes": list(self.notes),
        }


def compare(baseline: StoredRun, candidate: StoredRun, varies: Sequence[str] = ()) -> Comparison:
    """Compare two runs; `varies` is what the candidate's profile declares to differ from its baseline."""
    found = differs(baseline.fingerprint, candidate.fingerprint, varies)
    statistics = contrast(baseline.result.blocks, candidate.result.blocks)
    withheld = _withheld(baseline, candidate, found)
    return Comparison(
        verdict="withheld" if withheld else statistics.verdict,
        why=withheld or statistics.why,
        baseline=baseline,
        candidate=candidate,
        contrast=statistics,
        differs=found,
        cycle=cycle_arithmetic(baseline, candidate),
        notes=_notes(baseline, candidate),
    )


def cycle_arithmetic(baseline: StoredRun, candidate: StoredRun) -> CycleArithmetic:
    """Return accept length, cycle time and break-even of the candidate."""
    result, step_ms = candidate.result, baseline.result.step_ms
    break_even = break_even_accept_len(result.cycle_ms, step_ms) if result.cycle_ms and step_ms else None
    tok_s = 1000 / result.step_ms if result.step_ms else None
    return CycleArithmetic(result.accept_len, result.cycle_ms, tok_s, step_ms, break_even)


def marks(fingerprint: Fingerprint) -> tuple[str, ...]:
    """Return why a run's speed is not to be quoted: simulated, debug build, graphs off."""
    found = ["SIMULATED: measured on the embedded node"] if fingerprint.simulated else []
    found += [f"{text} ({name})" for name, text in _SWITCHES if fingerprint.env.get(name, "0") not in ("", "0")]
    found += [f"{text} ({flag})" for flag, text in _FLAGS if flag in fingerprint.argv]
    return tuple(found)


def _withheld(baseline: StoredRun, candidate: StoredRun, found: Sequence[Difference]) -> str:
    for name, run in (("baseline", baseline), ("candidate", candidate)):
        if not run.result.valid:
            return f"the {name} is not a valid run: {run.result.why}"
    workload = [difference.key for difference in found if difference.key.startswith("workload.")]
    if workload:
        return f"the workloads are not the same: {', '.join(workload)}"
    undeclared = [difference.key for difference in found if difference.withholds]
    if undeclared:
        return f"something differs that the profile does not declare: {', '.join(undeclared)}"
    return ""


def _notes(baseline: StoredRun, candidate: StoredRun) -> tuple[str, ...]:
    notes = [
        f"{name}: {text}"
        for name, run in (("baseline", baseline), ("candidate", candidate))
        for text in (*marks(run.fingerprint), *run.result.notes)
    ]
    notes.append("one launch each: the interval does not see what differs from launch to launch")
    return tuple(notes)


def _side(run: StoredRun) -> dict[str, Any]:
    result = run.result.to_json()
    keys = ("valid", "output_tok_s", "decode_tok_s", "ttft_ms", "tpot_ms", "accept_len", "cycle_ms", "blocks")
    return {
        "id": run.run_id,
        "at": run.at,
        "node": run.node,
        "profile": run.profile,
        "simulated": run.fingerprint.simulated,
        **{key: result[key] for key in keys},
    }
