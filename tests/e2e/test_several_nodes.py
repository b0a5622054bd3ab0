"""Verbs over several nodes: one result for each in the order they were named, the worst exit code, one question."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from console import yaml_file
from console.cli import main
from console.demo.setup import prepare
from tests.cli import Console, free_port

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def console(tmp_path: Path) -> Console:
    """Two nodes that are this machine with the stand-in's GPUs, and one whose agent cannot start."""
    demo = prepare(tmp_path / "demo")

    def here(name: str) -> dict[str, object]:
        return {
            "transport": "local",
            "python": [sys.executable],
            "gpu_source": "smi",
            "nvidia_smi": str(demo.nvidia_smi),
            "simulated": True,
            **{key: str(tmp_path / name / key) for key in ("cache_dir", "state_dir", "lock_dir")},
        }

    for name in ("one", "two"):
        (tmp_path / name / "lock_dir").mkdir(parents=True)
    entries = {"one": here("one"), "two": here("two"), "gone": {"transport": "local", "exec_prefix": ["false"]}}
    made = Console(tmp_path / "console", free_port())
    (made.home / "config").mkdir(parents=True)
    (made.home / "config" / "nodes.yaml").write_text(yaml_file.dump(entries))
    return made


def test_the_status_of_several_is_one_list_and_the_worst_code(console):
    code, told, narration = console.run("status", "two", "gone", "one")
    assert (code, told["ok"], told["schema"]) == (4, False, "spec-console/status/1")
    assert [(each["node"], each["ok"]) for each in told["nodes"]] == [("two", True), ("gone", False), ("one", True)]
    two, gone, one = told["nodes"]
    assert two["facts"]["state_dir"] != one["facts"]["state_dir"]
    assert gone["error"]["exit_code"] == 4
    assert f"gone: error: {gone['error']['message']}" in narration


@pytest.mark.slow
def test_the_doctor_of_several_says_all_of_each(console):
    code, told, _ = console.run("doctor", "one", "gone")
    one, gone = told["nodes"]
    assert code == 1
    assert (one["node"], one["ok"], one["connection"]["transport"]) == ("one", True, "local")
    assert {"gpus", "python"} <= {check["id"] for check in one["checks"]}
    assert (gone["ok"], gone["connection"], gone["configuration"]["transport"]) == (False, None, "local")
    assert "bad" in {check["state"] for check in gone["checks"]}


@pytest.mark.slow
def test_free_asks_once_and_measures_each(console):
    code, told, _ = console.run("free", "one", "two", "--yes")
    assert (code, told["ok"]) == (0, True)
    assert [each["node"] for each in told["nodes"]] == ["one", "two"]
    assert all(gpu["state"] == "free" for each in told["nodes"] for gpu in each["gpus"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("free", "one", "two", "--pid", "1", "--yes"), "--pid means something on one node"),
        (("free", "one", "two", "--server", "x", "--yes"), "--server means something on one node"),
        (("status", "one", "one"), "one is named twice"),
        (("doctor", "one", "two", "--bundle", "x"), "--bundle is about one node"),
    ],
)
def test_what_makes_no_sense_on_several_is_refused_before_anything_is_connected(words, said, tmp_path, monkeypatch):
    monkeypatch.setenv("SPEC_CONSOLE_HOME", str(tmp_path))
    result = CliRunner().invoke(main, [*words, "--json"])
    assert result.exit_code == 2
    assert said in json.loads(result.stdout)["error"]["message"]
