"""`calibrate` and a sweep over the draft steps, at once: what the weights predict of each wiring, and of each depth."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from tests.device.parts import faults
from tests.device.site import DIED, NODE, allow

if TYPE_CHECKING:
    from tests.device.report import Part
    from tests.device.rig import Rig
    from tests.device.site import Site, Verb

CALIBRATE_S, SWEEP_S = 400.0, 560.0
TRAINED, EARLY, NOTHING = [8, 10, 7, 4, 5, 52], [186, 3, 2, 1, 1, 32], [399]
BLIND = [85, 8, 7, 6, 5, 38]
"""The target's attention finds another token than the one before."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """One call of the verb: what it must get and call it. `both`: with CUDA graphs and eager; not on a CPU."""

    name: str
    words: tuple[str, ...]
    hist: list[int]
    named: str
    both: bool = False


CALIBRATIONS = (
    Calibration("trained", (), TRAINED, "as trained: outputs of layers 2, 3, 6", both=True),
    Calibration("one-early", ("--wiring", "one_early"), EARLY, "all one layer early: outputs of layers 1, 2, 5"),
    Calibration("eagle-flag", ("--wiring", "eagle_flag"), NOTHING, "--speculative-algorithm EAGLE"),
    Calibration("positions", ("--positions",), TRAINED, "as trained: outputs of layers 2, 3, 6", both=True),
    Calibration(
        "positions-target-scaled",
        ("--positions", "--wiring", "target_rope_scaled"),
        BLIND,
        "the target's attention finds nothing",
        both=True,
    ),
    Calibration(
        "positions-draft-scaled",
        ("--positions", "--wiring", "rope_scaled"),
        NOTHING,
        "the draft's attention finds nothing",
    ),
)
BY_STEPS: dict[int, tuple[float, list[int]]] = {
    1: (1.9048, [20, 190]),
    2: (2.7397, [12, 15, 119]),
    3: (3.4483, [8, 13, 12, 83]),
    4: (3.9604, [14, 9, 8, 6, 64]),
    5: (4.6512, TRAINED),
}
"""Draft steps: accept_len and histogram of 400 tokens, from the weights, as tests/sglang_cpu/test_sweep.py has them."""


def run(rig: Rig) -> None:
    cases = [(arch, each) for arch in ("deepseek", "llama") for each in CALIBRATIONS]
    named = [(f"{arch}-{each.name}", partial(_calibrate, arch=arch, case=each)) for arch, each in cases]
    rig.at_once("calibrate", [("sweep", _sweep), *named])


def _calibrate(rig: Rig, part: Part, *, arch: str, case: Calibration) -> None:
    modes = [True, False] if case.both and rig.kit.has_gpus else [rig.kit.has_gpus]
    words = (*case.words, "--graphs", "both") if len(modes) > 1 else case.words
    with rig.site(f"calibrate-{arch}-{case.name}") as site:
        done = _run(site, part, arch, *words)
        if done.code == DIED:
            part.figure("died, tried once more", done.told)
            done = _run(site, part, arch, *words)
        part.expect("calibrate: exit code", done.code, 0)
        got = done.told.get("got") or []
        part.expect("histograms", [each["hist"] for each in got], [case.hist] * len(modes))
        part.expect("with CUDA graphs", [each["graphs"] for each in got], modes)
        part.expect("named", (done.told.get("named") or [""])[0], case.named, ok=_begins(done, case.named))
        told = [f"{each['id']} {each['verdict']}" for each in done.told.get("stages") or []]
        part.figure("calibrate", {"accept_len": [each["accept_len"] for each in got], "stages": told})
        part.expect("processes left", [f"{each.pid} {each.title}" for each in site.members()], [])


def _run(site: Site, part: Part, arch: str, *words: str) -> Verb:
    pair = "deepseek_v2" if arch == "deepseek" else arch
    about = ("--profile", f"{arch}-eagle3", "--arch", pair, *allow(faults.BESIDE), "--yes")
    try:
        return site.verb(part, "calibrate", NODE, *about, *words, timeout_s=CALIBRATE_S)
    finally:
        site.note_sessions()


def _begins(done: Verb, named: str) -> bool:
    return bool(done.told.get("named")) and done.told["named"][0].startswith(named)


def _sweep(rig: Rig, part: Part) -> None:
    """Each depth accepts what the weights predict; which is fastest is the machine's."""
    with rig.site("sweep") as site:
        steps = "1-5" if rig.kit.has_gpus else "4,5"
        words = ("--steps", steps, *allow(faults.BESIDE), "--yes")
        try:
            done = site.verb(part, "sweep", NODE, "deepseek-eagle3", *words, timeout_s=SWEEP_S)
        finally:
            site.note_sessions()
        part.expect("sweep: exit code", done.code, 0)
        points = {each["set"]["speculative.num_steps"]: each for each in done.told.get("points") or []}
        part.figure("sweep", {"best": done.told.get("best"), "points": [_told(each) for each in points.values()]})
        against = ((done.told.get("best") or {}).get("against_baseline") or {}).get("verdict")
        part.expect("best against the baseline", against, "a verdict", ok=against not in (None, "withheld"))
        results = {run["run_id"]: run["result"] for run in site.verb(part, "runs", "list").told.get("runs") or []}
        for depth, point in sorted(points.items()):
            found = results.get((point.get("run") or {}).get("id")) or {}
            got = round(found.get("accept_len") or 0, 4), _each(found)
            part.expect(f"{depth} steps: accept_len, histogram", got, BY_STEPS[depth])
        part.expect("processes left", [f"{each.pid} {each.title}" for each in site.members()], [])


def _each(result: dict[str, Any]) -> list[float]:
    """The histogram of one request, of as many as the probe sent."""
    requests = (result.get("completion_tokens") or 0) / 400
    return [count / requests for count in result.get("accept_hist") or []] if requests else []


def _told(point: dict[str, Any]) -> dict[str, Any]:
    run = point.get("run") or {}
    return {**point["set"], **{name: run.get(name) for name in ("output_tok_s", "accept_len", "cycle_ms")}}
