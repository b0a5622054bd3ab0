"""A sweep over 1 to 5 speculative steps on a real SGLang at TP 2: each point accepts what the weights predict.

Eight launches, so only with SPEC_CONSOLE_FULL=1. What is predicted is computed by the calibration pair's program, which
writes the same weights; tok/s is never asserted here.
"""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from console.calibration.pair import Ask, PairSpec, order
from console.calibration.program import program
from tests.sglang_cpu.conftest import NODE, Site

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.sglang_cpu, pytest.mark.sshd, pytest.mark.timeout(2400)]

PROFILE = """
extends: cpu-deepseek-eagle3
log_path: ${logs}/sweep.log
probe: {keep_output: true, blocks: 1}
baseline:
  profile: cpu-deepseek-baseline
  varies: [speculative, attention_backend, prefill_attention_backend, decode_attention_backend]
"""
STEPS = (1, 2, 3, 4, 5)
TRAINED = [2, 3, 6]


@pytest.fixture(scope="module", autouse=True)
def _full() -> None:
    if not os.environ.get("SPEC_CONSOLE_FULL"):
        pytest.skip("eight launches: set SPEC_CONSOLE_FULL=1")


@pytest.fixture(scope="module")
def swept(site: Site) -> dict[str, Any]:
    (site.home / "config" / "profiles" / "swept.yaml").write_text(PROFILE)
    code, told, narration = site.run("sweep", NODE, "swept", "--steps", "1-5", "--yes", timeout_s=2300)
    assert code == 0, narration
    return told


def predicted(python: Path, folder: Path, steps: int) -> tuple[float, list[int]]:
    """accept_len and histogram of the draft as trained, from its weights."""
    ask, archive = Ask(steps=steps), folder / "pair.zip"
    archive.write_bytes(program().data)
    words = [
        str(python),
        str(archive),
        str(folder / "pair"),
        order(PairSpec("deepseek_v2", trained=(2, 3, 6)), ask, None),
    ]
    subprocess.run(words, check=True, timeout=600)
    rows = json.loads((folder / "pair" / ask.file).read_bytes())["wirings"]
    (row,) = [row for row in rows if row["outputs"] == TRAINED]
    return row["accept_len"], row["hist"]


def test_each_number_of_steps_accepts_what_the_weights_predict(swept, site, tmp_path):
    points = {point["set"]["speculative.num_steps"]: point["run"]["id"] for point in swept["points"]}
    assert sorted(points) == list(STEPS)
    results = {run["run_id"]: run["result"] for run in site.run("runs", "list")[1]["runs"]}
    for steps in STEPS:
        length, hist = predicted(site.cpu.python, tmp_path, steps)
        found = results[points[steps]]
        assert (round(found["accept_len"], 4), found["accept_hist"]) == (length, hist), f"{steps} steps"
        assert found["completion_tokens"] == 400


def test_speculation_changes_no_greedy_token(swept, site):
    baseline = swept["baseline"]["start"]["run"]["id"]
    for point in swept["points"]:
        _, told, narration = site.run("compare", baseline, point["run"]["id"], "--outputs")
        assert told["outputs"]["verdict"] == "same", (point["set"], told["outputs"], narration)
        assert told["outputs"]["total"] == 400
