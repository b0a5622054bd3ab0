"""The loop and the faults on a real SGLang and real GPUs, by the script that is run by hand: `tests.device.loop`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.device import loop
from tests.device.site import ROOT

if TYPE_CHECKING:
    from typing import Any

DEADLINE_S = 3600
BUNDLE = Path(os.environ.get("SPEC_CONSOLE_BUNDLE", str(ROOT / ".sgl")))
PARTS = ("walk", "overlay", "llama", "faults", "memory", "sync", "foreign")
pytestmark = [pytest.mark.device, pytest.mark.timeout(DEADLINE_S + 120)]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    import torch

    if not (BUNDLE / "site.tar.xz").exists():
        pytest.skip(f"no {BUNDLE}/site.tar.xz: tests/device/bundle/make_bundle.sh makes it")
    gpus = 4 if torch.cuda.device_count() >= 4 else 2
    if torch.cuda.device_count() < gpus:
        pytest.skip("tensor parallelism needs two GPUs")
    out, work = tmp_path_factory.mktemp("out"), tmp_path_factory.mktemp("work")
    where = ("--out", str(out), "--work", str(work), "--bundle", str(BUNDLE))
    loop.main([*where, "--gpus", str(gpus), "--parts", ",".join(PARTS), "--deadline", str(DEADLINE_S)])
    return dict(json.loads((out / "report.json").read_text()))


def test_every_part_ran_to_its_end(report: dict[str, Any]) -> None:
    assert {part["name"]: part["why"] for part in report["parts"] if part["state"] != "done"} == {}
    assert {part["name"].split(".")[0] for part in report["parts"]} >= set(PARTS)


def test_everything_was_as_expected(report: dict[str, Any]) -> None:
    missed = [(part["name"], each) for part in report["parts"] for each in part["expectations"] if not each["ok"]]
    assert missed == []
