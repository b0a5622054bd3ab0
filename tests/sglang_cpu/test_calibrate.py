"""`calibrate` on a real SGLang: every wiring gives what the weights predict, and the verdict names it.

Minutes of two cores, so only with SPEC_CONSOLE_FULL=1.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.sglang_cpu.calibrations import ALL, ALL_EARLY, EARLY
from tests.sglang_cpu.conftest import NODE, make_site

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.sglang_cpu.calibrations import Calibration
    from tests.sglang_cpu.conftest import Site

pytestmark = [
    pytest.mark.sglang_cpu,
    pytest.mark.sshd,
    pytest.mark.timeout(900),
    pytest.mark.skipif(os.environ.get("SPEC_CONSOLE_FULL") != "1", reason="minutes: SPEC_CONSOLE_FULL=1"),
]

TABLE = Path(__file__).parents[1] / "data" / "calibration" / "expected-5-400-300.json"


@pytest.fixture(scope="module")
def calibrated(site: Site) -> Iterator[Site]:
    """A console of its own: what it measures is not among the runs that other tests count."""
    made = make_site(site.home.with_name("calibrate"), site.sshd, site.cpu)
    yield made
    made.leave()


@pytest.fixture(scope="module")
def calibrated_v1(site_v1: Site) -> Iterator[Site]:
    made = make_site(site_v1.home.with_name("calibrate-v1"), site_v1.sshd, site_v1.cpu)
    yield made
    made.leave()


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.id)
def test_a_wiring_gives_what_its_weights_predict_and_is_named(case: Calibration, request: pytest.FixtureRequest):
    site: Site = request.getfixturevalue("calibrated_v1" if case.worker == "v1" else "calibrated")
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


def test_the_node_still_computes_the_table_that_the_unit_tests_hold(calibrated: Site):
    saw = ("--arch", "llama", "--saw", ",".join(map(str, EARLY)))
    code, told, narration = calibrated.run("calibrate", NODE, *saw)
    assert code == 0, narration
    assert told["named"] == [f"{ALL_EARLY} in fc's slots"]
    (path,) = calibrated.sshd.home.glob(f".local/state/spec-console/*/pairs/llama-*/{TABLE.name}")
    written, held = json.loads(path.read_bytes()), json.loads(TABLE.read_bytes())
    assert (written["wirings"], written["others"]) == (held["wirings"], held["others"])
    assert calibrated.run("calibrate", NODE, "--arch", "llama", "--saw", "1,2,3,4,5,6")[0] == 1
