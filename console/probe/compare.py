"""Owns the comparison of stored runs: both numbers always, every difference, a verdict only where one is due."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from console.probe.differences import Difference, differs
from console.probe.golden import GoldenPoint, beside
from console.probe.metrics import break_even_accept_len
from console.probe.speculation import speculation_of
from console.probe.stats import CONFIDENCE, Contrast, contrast
from console.probe.stored import launches, pooled
from console.units import format_percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from console.probe.fingerprint import Fingerprint
    from console.probe.golden import Golden
    from console.probe.stored import StoredRun

Verdict = Literal["faster", "slower", "cant_tell", "withheld"]
Unit = Literal["block", "launch"]

CYCLE_FORMULA = "tok/s of one stream = accept_len / cycle time; break-even accept_len = cycle time / baseline step"

_SWITCHES = (
    ("SGLANG_SIMULATE_ACC_LEN", "acceptance is simulated"),
    ("EAGLE3_DEBUG", "debug build: not a benchmark"),
    ("EAGLE3_CYCLE", "instrumented build: not a benchmark"),
    ("EAGLE3_DIGEST", "instrumented build: not a benchmark"),
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
    """One run, or several of one configuration taken together."""
    candidate: StoredRun
    contrast: Contrast
    """The statistics, shown under a withheld verdict too."""
    differs: tuple[Difference, ...]
    cycle: CycleArithmetic
    notes: tuple[str, ...]
    unit: Unit = "block"
    """What counts as one measurement: the launch where each side has two or more, else the block."""
    launches: tuple[int, int] = (1, 1)
    """Launches of baseline and candidate."""
    steady: Contrast | None = None
    """The same of the steady windows, where both sides have them; the verdict is that of whole blocks."""
    golden: GoldenPoint | None = None

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
            "unit": self.unit,
            "launches": list(self.launches),
            "steady": _statistics(self.steady) if self.steady else None,
            "differs": [asdict(difference) for difference in self.differs],
            "cycle": asdict(self.cycle),
            "golden": self.golden.to_json() if self.golden else None,
            "notes": list(self.notes),
        }


def compare(baseline: StoredRun, candidate: StoredRun, varies: Sequence[str] = ()) -> Comparison:
    """Compare two runs; `varies` is what the candidate's profile declares to differ from its baseline."""
    return compare_pools([baseline], [candidate], varies)


def compare_pools(
    baselines: Sequence[StoredRun],
    candidates: Sequence[StoredRun],
    varies: Sequence[str] = (),
    golden: Golden | None = None,
) -> Comparison:
    """Compare runs of one configuration with runs of another one; each side has at least one.

    Blocks of one launch share its luck: memory layout, clocks, which kernels were chosen. So where each side has two
    launches or more, a launch is one measurement (the geometric mean of its blocks), and the interval holds what
    differs from launch to launch; it is wide, for launches are few.

    Raises:
        UsageError: the runs of a side are not of one configuration.
    """
    baseline, candidate = pooled(baselines), pooled(candidates)
    by_launch = [launches(runs) for runs in (baselines, candidates)]
    counts = (len(by_launch[0]), len(by_launch[1]))
    unit: Unit = "launch" if min(counts) > 1 else "block"
    a, b = ([_geometric_mean(blocks) for blocks in side.values() if blocks] for side in by_launch)
    statistics = contrast(a, b) if unit == "launch" else contrast(baseline.result.blocks, candidate.result.blocks)
    found = differs(baseline.fingerprint, candidate.fingerprint, varies)
    withheld = _withheld(baseline, candidate, found)
    return Comparison(
        verdict="withheld" if withheld else statistics.verdict,
        why=withheld or statistics.why,
        baseline=baseline,
        candidate=candidate,
        contrast=statistics,
        differs=found,
        cycle=cycle_arithmetic(baseline, candidate),
        notes=(*_run_notes(baseline, candidate), *_launch_notes(by_launch, unit)),
        unit=unit,
        launches=counts,
        steady=_steady(baseline, candidate),
        golden=beside(golden, candidate) if golden else None,
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


def _run_notes(baseline: StoredRun, candidate: StoredRun) -> Iterator[str]:
    for name, run in (("baseline", baseline), ("candidate", candidate)):
        for text in (*marks(run.fingerprint), *run.result.notes):
            yield f"{name}: {text}"


def _launch_notes(by_launch: Sequence[dict[str, list[float]]], unit: Unit) -> Iterator[str]:
    for name, side in zip(("baseline", "candidate"), by_launch, strict=True):
        means = [_geometric_mean(blocks) for blocks in side.values() if blocks]
        if len(means) > 1:
            rates = ", ".join(f"{mean:.1f}" for mean in means)
            spread = format_percent(max(means) / min(means) - 1)
            yield f"{name}: {len(means)} launches at {rates} tok/s, {spread} from the slowest to the fastest"
    if all(len(side) == 1 for side in by_launch):
        yield "one launch each: the interval does not see what differs from launch to launch"
    elif unit == "block":
        yield "one side has one launch: the interval does not see what differs from launch to launch"


def _steady(baseline: StoredRun, candidate: StoredRun) -> Contrast | None:
    a, b = baseline.result.steady_blocks, candidate.result.steady_blocks
    return contrast(a, b) if a and b else None


def _geometric_mean(blocks: Sequence[float]) -> float:
    return math.exp(math.fsum(map(math.log, blocks)) / len(blocks))


def _statistics(found: Contrast) -> dict[str, Any]:
    interval = list(found.interval) if found.interval else None
    told = {"difference": found.difference, "interval": interval, "detectable": found.detectable}
    return {"verdict": found.verdict, "why": found.why, **told, "n": list(found.n)}


_SIDE = (
    "valid",
    "output_tok_s",
    "steady_tok_s",
    "decode_tok_s",
    "ttft_ms",
    "tpot_ms",
    "e2e_ms",
    "accept_len",
    "accept_hist",
    "cycle_ms",
    "blocks",
    "server",
)


def _side(run: StoredRun) -> dict[str, Any]:
    result = run.result.to_json()
    speculation = speculation_of(run.fingerprint.argv)
    return {
        "id": run.run_id,
        "at": run.at,
        "node": run.node,
        "profile": run.profile,
        "simulated": run.fingerprint.simulated,
        "speculation": {**asdict(speculation), "form": speculation.form} if speculation else None,
        **{key: result[key] for key in _SIDE},
    }
