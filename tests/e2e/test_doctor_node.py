"""doctor NODE: what it tells of this machine and of the embedded node; no claim without a measurement."""

from __future__ import annotations

import json
import stat
import tarfile

import pytest

from console.actions.checkup import link
from tests.cli import Console, free_port
from tests.e2e.ways import way


@pytest.fixture
def console(tmp_path) -> Console:
    return Console(tmp_path / "home", free_port())


async def test_this_machine_is_reached_and_passes_what_is_large():
    async with way("local") as transport:
        found = [check async for check in link.checks(transport, ())]
    ids = ["link.round-trip", "link.large-up", "link.large-down", "clock"]
    assert [(check.id, check.state) for check in found] == [(name, "ok") for name in ids]
    assert len(found[0].values["samples"]) == link.SAMPLES
    assert [check.values["arrived"] for check in found[1:3]] == [link.LARGE, link.LARGE]
    assert abs(found[3].values["skew"]) <= found[3].values["error"]


@pytest.mark.slow
def test_the_embedded_node_is_looked_at_from_its_shell_to_its_trees_and_into_a_bundle(console, tmp_path):
    path = tmp_path / "report.tgz"
    code, told, narration = console.run("doctor", "demo", "--bundle", str(path))
    assert code in (0, 1), narration
    states = {}
    for check in told["checks"]:
        states.setdefault(check["id"], []).append(check["state"])
        assert check["told"]
    assert states["login"] == states["link.round-trip"] == states["agent"] == ["ok"]
    assert states["link.large-up"] == states["link.large-down"] == ["ok"]
    gpus = next(check for check in told["checks"] if check["id"] == "gpus")
    assert gpus["values"]["count"] == 8
    trees = [check for check in told["checks"] if check["id"] == "sglang"]
    assert any("simulated" in check["values"].get("version", "") for check in trees)
    assert told["connection"]["transport"] == "local"
    assert told["ok"] == (code == 0) == all(check["state"] != "bad" for check in told["checks"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with tarfile.open(path) as tar:
        kept = json.load(tar.extractfile("spec-console-doctor/report.json"))
    assert [check["id"] for check in kept["checks"]] == [check["id"] for check in told["checks"]]
    assert "report.json" in narration
