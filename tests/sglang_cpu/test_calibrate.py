"""`calibrate` on a real SGLang: every wiring gives what the weights predict, and the verdict names it.

Minutes of two cores, so only with SPEC_CONSOLE_FULL=1.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from console.calibration.program import program
from tests.sglang_cpu import environment
from tests.sglang_cpu.calibrations import ALL, ALL_EARLY, AS_TRAINED, EARLY, RIGHT, USUAL
from tests.sglang_cpu.conftest import NODE, make_site

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.sglang_cpu.calibrations import Calibration
    from tests.sglang_cpu.conftest import Site

pytestmark = [
    pytest.mark.sglang_cpu,
    pytest.mark.sshd,
    pytest.mark.timeout(900),
    pytest.mark.skipif(os.environ.get("SPEC_CONSOLE_FULL") != "1", reason="minutes: SPEC_CONSOLE_FULL=1"),
]

TABLES = Path(__file__).parents[1] / "data" / "calibration"


@pytest.fixture(scope="module")
def sites(site: Site) -> Iterator[Callable[[str], Site]]:
    """By release of SGLang a console of its own: what it measures is not among the runs that other tests count."""
    made: dict[str, Site] = {}

    def of(release: str) -> Site:
        if release not in made:
            try:
                cpu = environment.prepare_release(release)
            except environment.Unavailable as reason:
                pytest.skip(f"no SGLang {release} on this CPU: {reason}")
            made[release] = make_site(site.home.with_name(f"calibrate-{release}"), site.sshd, cpu)
        return made[release]

    yield of
    for each in made.values():
        each.leave()


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.id)
def test_a_wiring_gives_what_its_weights_predict_and_is_named(case: Calibration, sites: Callable[[str], Site]):
    site = sites(case.release)
    words = ["--profile", case.profile, "--arch", case.arch, *case.words, "--yes"]
    code, told, narration = site.run("calibrate", NODE, *words)
    assert code == case.code, narration
    (got,) = told["got"]
    assert tuple(got["hist"] or ()) == case.hist, got
    assert told["named"][0].startswith(case.named), told["named"]
    if case.hist:
        assert round(got["accept_len"], 4) == case.accept_len
        assert (tuple(told["expected"]["hist"]) == case.hist) is (code == 0)
    wrong = {stage["id"] for stage in told["stages"] if stage["verdict"] == "fault"}
    assert (case.stage in wrong) if case.stage else not wrong
    assert not any(run["children"] for run in site.run("status", NODE)[1]["servers"]), "it leaves no server"


def test_the_pair_is_written_on_one_core_of_however_many(site: Site, tmp_path: Path):
    archive = tmp_path / "pair.zip"
    archive.write_bytes(program().data)
    look = f"import sys; sys.path.insert(0, {str(archive)!r}); import writer, torch; print(torch.get_num_threads())"
    words, env = [str(site.cpu.python), "-c", look], {**os.environ, "OMP_NUM_THREADS": "8"}
    assert subprocess.run(words, env=env, capture_output=True, text=True, check=True).stdout.split() == ["1"]


@pytest.mark.parametrize(
    ("words", "hist", "named", "held"),
    [
        ((), EARLY, f"{ALL_EARLY} in fc's slots", "expected-5-400-300.json"),
        (("--positions",), RIGHT, f"{AS_TRAINED} in fc's slots", "expected-positions-5-400-300.json"),
    ],
)
def test_the_node_still_computes_the_table_that_the_unit_tests_hold(
    words: tuple[str, ...], hist: tuple[int, ...], named: str, held: str, sites: Callable[[str], Site]
):
    calibrated = sites(USUAL)
    asked = ("calibrate", NODE, "--arch", "llama", *words, "--saw")
    code, told, narration = calibrated.run(*asked, ",".join(map(str, hist)))
    assert code == 0, narration
    assert told["named"] == [named]
    known = json.loads((TABLES / held).read_bytes())
    tables = calibrated.sshd.home.glob(".local/state/spec-console/*/pairs/llama-*/expected-5-400-300.json")
    assert known in [json.loads(path.read_bytes()) for path in tables]
    assert calibrated.run(*asked, "1,2,3,4,5,6")[0] == 1
