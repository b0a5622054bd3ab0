"""Owns the question of whether two runs accept the same drafts and make the same greedy text. Speed is not looked at.

Debugging runs with CUDA graphs off and prints on, and assumes that the server with graphs accepts the same. SGLang
0.4.10 to 0.5.10.post1 broke that: graph capture ignored the draft's layer ids (docs/wiring.md). So a run of each is
compared here, whatever else differs, as long as both ask the same of the same pair of models.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from console.probe.acceptance import ACCEPT_LEN_FORMULA
from console.probe.differences import Difference, differs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.probe.outputs import OutputComparison
    from console.probe.stored import StoredRun

AcceptanceVerdict = Literal["agree", "disagree", "cant_tell", "withheld"]

TOLERANCE = 0.02
"""Relative difference of accept_len that numerics explain. Graphs off against on, seen: 5.36 and 5.39 (cases E05)."""
ERRORS = 3.0
"""Standard errors within which a larger difference may be chance."""

_SAME = ("model_path", "model.", "draft.", "speculative_", "simulated", "env.SGLANG_SIMULATE_ACC_LEN", "workload.")


@dataclass(frozen=True, slots=True)
class AcceptanceCheck:
    """Two runs, by what they accept."""

    verdict: AcceptanceVerdict
    why: str
    a: StoredRun
    b: StoredRun
    difference: float | None
    """Of accept_len, relative to a."""
    histogram_distance: float | None
    """Half the sum of absolute differences between the two shares, 0 (alike) to 1."""
    outputs: OutputComparison | None
    """None where a spool was not kept."""
    differs: tuple[Difference, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the fields of `compare --acceptance`."""
        return {
            "verdict": self.verdict,
            "why": self.why,
            "a": _side(self.a),
            "b": _side(self.b),
            "accept_len_formula": ACCEPT_LEN_FORMULA,
            "difference": self.difference,
            "histogram_distance": self.histogram_distance,
            "outputs": self.outputs.to_json() if self.outputs else None,
            "differs": [asdict(each) for each in self.differs],
        }


def check_acceptance(a: StoredRun, b: StoredRun, outputs: OutputComparison | None = None) -> AcceptanceCheck:
    """Compare what two runs accept."""
    found = differs(a.fingerprint, b.fingerprint)
    lengths = a.result.accept_len, b.result.accept_len
    difference = lengths[1] / lengths[0] - 1 if lengths[0] and lengths[1] else None
    verdict, why = _judge(a, b, found, difference, outputs)
    distance = _distance(a.result.accept_hist, b.result.accept_hist)
    return AcceptanceCheck(verdict, why, a, b, difference, distance, outputs, found)


def _judge(
    a: StoredRun,
    b: StoredRun,
    found: Sequence[Difference],
    difference: float | None,
    outputs: OutputComparison | None,
) -> tuple[AcceptanceVerdict, str]:
    broken = next((run for run in (a, b) if not run.result.valid), None)
    if broken is not None:
        return "withheld", f"run {broken.run_id} is not valid: {broken.result.why}"
    other = [each.key for each in found if each.key.startswith(_SAME)]
    if other:
        return "withheld", f"the two do not ask the same of the same models: {', '.join(other)}"
    if difference is None:
        return _by_text(outputs)
    if abs(difference) <= TOLERANCE:
        return "agree", ""
    errors = _errors_apart(a.result.accept_hist, b.result.accept_hist)
    if errors is not None and errors <= ERRORS:
        return "cant_tell", "so few verifications may differ so much by chance: measure more blocks"
    return "disagree", f"accept_len differs by more than {TOLERANCE:.0%}, and not by chance"


def _by_text(outputs: OutputComparison | None) -> tuple[AcceptanceVerdict, str]:
    if outputs is None or outputs.verdict == "unknown":
        return "cant_tell", "there is neither an accept length nor a text of both"
    return ("agree", "") if outputs.verdict == "same" else ("disagree", "the greedy texts differ")


def _distance(a: Sequence[int] | None, b: Sequence[int] | None) -> float | None:
    if not a or not b or not sum(a) or not sum(b):
        return None
    shares = [
        [counts[i] / sum(counts) if i < len(counts) else 0.0 for i in range(max(len(a), len(b)))] for counts in (a, b)
    ]
    return math.fsum(abs(x - y) for x, y in zip(*shares, strict=True)) / 2


def _errors_apart(a: Sequence[int] | None, b: Sequence[int] | None) -> float | None:
    """Standard errors between the mean accepted drafts of two histograms."""
    if not a or not b or sum(a) < 2 or sum(b) < 2:
        return None
    (mean_a, square_a), (mean_b, square_b) = _moments(a), _moments(b)
    error = math.sqrt(square_a / sum(a) + square_b / sum(b))
    return abs(mean_a - mean_b) / error if error else None


def _moments(counts: Sequence[int]) -> tuple[float, float]:
    n = sum(counts)
    mean = sum(i * count for i, count in enumerate(counts)) / n
    return mean, math.fsum(count * (i - mean) ** 2 for i, count in enumerate(counts)) / (n - 1)


def _side(run: StoredRun) -> dict[str, Any]:
    result = run.result
    told = {"id": run.run_id, "profile": run.profile, "valid": result.valid, "accept_len": result.accept_len}
    hist = list(result.accept_hist) if result.accept_hist is not None else None
    return {**told, "accept_hist": hist, "accept_hist_source": result.accept_hist_source}
