"""Calibrations of a real SGLang on the CPU: what each wiring must give, and what the verdict must call it.

The figures were computed from the weights: 400 tokens, greedy, 5 steps, prompt ending in 300. The pair on the node is
written anew by the verb; these stand here so that a change of the writer cannot go unseen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

USUAL, V1 = "0.5.20", "0.5.12.post1"
FURTHER = ("0.5.16", "0.5.23")
"""Of these a few rows only."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """One launch."""

    words: tuple[str, ...]
    hist: tuple[int, ...]
    """Empty where the server dies."""
    named: str
    """The beginning of the first name."""
    stage: str = ""
    """The stage that is at fault; empty where none is."""
    arch: Literal["llama", "deepseek_v2"] = "deepseek_v2"
    release: str = USUAL
    code: int = 0

    @property
    def id(self) -> str:
        return f"{self.release} {self.arch} {' '.join(self.words) or 'trained'}"

    @property
    def profile(self) -> str:
        return "cpu-deepseek-v1" if self.release == V1 else "cpu-deepseek-eagle3"

    @property
    def accept_len(self) -> float:
        return round(400 / sum(self.hist), 4)


RIGHT = (8, 10, 7, 4, 5, 52)
EARLY = (186, 3, 2, 1, 1, 32)
BLIND = (85, 8, 7, 6, 5, 38)
"""The target's attention finds another token than the one before."""
FORGETFUL = (113, 11, 88)
"""Seen, not predicted: the CPU backend of 0.5.16 (intel_amx_backend.py) counts drafted tokens, then takes the lengths
without them, so that neither verification nor later draft steps find them; 0.5.20 has it no more."""
AS_TRAINED = "as trained: outputs of layers 2, 3, 6"
ALL_EARLY = "all one layer early: outputs of layers 1, 2, 5"

CHANGED = (
    Calibration(("--ids", "2,3,6"), EARLY, ALL_EARLY, "capture_layers", code=1),
    Calibration(("--ids", "2,3,6"), RIGHT, AS_TRAINED, release=V1),
)
"""The same folder, ids [2, 3, 6], on 0.5.20 and on 0.5.12.post1: what ids mean changed in 0.5.13."""


def _wiring(name: str, hist: tuple[int, ...], named: str, stage: str, **more: object) -> Calibration:
    return Calibration(("--wiring", name), hist, named, stage, **more)  # type: ignore[arg-type]


def _of_both(arch: Literal["llama", "deepseek_v2"]) -> tuple[Calibration, ...]:
    faults = (
        ("one_early", EARLY, ALL_EARLY, "capture_layers"),
        ("default_ids", (205, 2, 2, 2, 0, 30), "2 slots wrong: outputs of layers 1, 3, 4", "capture_layers"),
        ("one_of_three", (81, 6, 6, 3, 2, 45), "slot 0 one layer early", "capture_layers"),
        ("another_of_three", (25, 8, 6, 6, 5, 49), "slot 1 one layer late", "capture_layers"),
        ("fc_swapped", (90, 9, 5, 4, 5, 40), "slots 0 and 1 of fc swapped", "fc"),
        ("d2t_missing", (66, 50, 26, 16, 8, 9), "d2t is not applied", "d2t"),
        ("eagle_flag", (399,), "--speculative-algorithm EAGLE", "captures"),
        ("no_aux", (399,), "nothing is captured", ""),
        ("one_too_many", (), "other than three states are captured", "captures"),
    )
    made = [_wiring(name, hist, named, stage, arch=arch, code=0 if hist else 6) for name, hist, named, stage in faults]
    scaled = ("--positions", "--wiring", "target_rope_scaled")
    return (
        Calibration((), RIGHT, AS_TRAINED, arch=arch),
        Calibration(scaled, BLIND, "the target's attention finds nothing", "target_attention", arch=arch),
        Calibration(("--positions",), RIGHT, AS_TRAINED, arch=arch),
        Calibration(("--draft-vocab", "384"), (60, 30, 18, 9, 9, 24), AS_TRAINED, arch=arch),
        Calibration(("--set", "speculative.num_steps=2"), (12, 15, 119), AS_TRAINED, arch=arch),
        *made,
    )


def _of_release(release: str) -> tuple[Calibration, ...]:
    return (
        Calibration((), RIGHT, AS_TRAINED, release=release),
        Calibration(("--ids", "2,3,6"), EARLY, ALL_EARLY, "capture_layers", code=1, release=release),
        _wiring("one_early", EARLY, ALL_EARLY, "capture_layers", release=release),
    )


ALL = (
    *CHANGED,
    *_of_both("deepseek_v2"),
    *_of_both("llama"),
    Calibration(("--positions", "--wiring", "rope_scaled"), (399,), "the draft's attention finds nothing"),
    _wiring("embedding", (170, 6, 5, 3, 4, 29), "slot 0 holds the embedding", "capture_layers"),
    _wiring("embedding", (), "a layer, or the embedding", "capture_layers", arch="llama", code=6),
    Calibration(("--positions",), RIGHT, AS_TRAINED, release=V1),
    _wiring("one_early", EARLY, ALL_EARLY, "capture_layers", release=V1),
    *(row for release in FURTHER for row in _of_release(release)),
    Calibration(("--positions",), RIGHT, AS_TRAINED, release="0.5.23"),
    Calibration(("--positions",), FORGETFUL, "none of the", release="0.5.16", code=1),
)
