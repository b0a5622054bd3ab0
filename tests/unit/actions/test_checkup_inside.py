"""What the doctor makes of the agent's answers: counts as they were told, unknown where nothing was told."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from console.actions.checkup import inside
from console.actions.checkup.facts_script import Facts, Python, Venv
from console.actions.node import Inventory
from console.config import NodeConfig
from console.node.holders import classify
from remote_agent.protocol import (
    AgentError,
    GpuHolder,
    GpuSample,
    Hardware,
    Identity,
    NodeFacts,
    Preflight,
    ProcessInfo,
    ServerRun,
    SGLangFacts,
    TelemetrySample,
)

ME, UID = "eva@desk", 1000
FACTS = NodeFacts(
    "gpu-a", "eva", UID, "6.1", "Debian", 8, 1 << 34, "m", "b", None, None, "/h", "node", True, "nvml", ""
)


def launcher(pid: int, uid: int, python: str) -> ProcessInfo:
    argv = [python, "-m", "sglang.launch_server", "--port", "30000"]
    return ProcessInfo(Identity(pid, 1, "b"), 1, pid, pid, uid, f"u{uid}", "python", argv, "S", 5.0)


def inventory(
    *launchers: ProcessInfo, used: tuple[int | None, ...] = (), runs: tuple[ServerRun, ...] = ()
) -> Inventory:
    gpus = [GpuSample(i, f"G{i}", "H200", 1 << 37, u) for i, u in enumerate(used)]
    sample = TelemetrySample(0.0, "nvml" if used else "none", "" if used else "no library", gpus)
    holders = classify([GpuHolder(0, p.identity.pid, 1 << 30, "nvml", p) for p in launchers], runs, ME, UID)
    return Inventory(FACTS, sample, holders, runs, 3, "")


class Node:
    """A node whose interpreters import what `trees` says."""

    def __init__(self, config: NodeConfig, trees: dict[str, str]) -> None:
        self.config, self.agent, self.trees = config, self, trees
        self.asked: dict[str, dict[str, str]] = {}

    async def sglang(self, python: str, env: dict[str, str]) -> SGLangFacts:
        self.asked[python] = dict(env)
        root = self.trees.get(python)
        return SGLangFacts(python, "3.11", "0.5.9" if root else None, root, "" if root else "no package sglang")

    async def inventory(self) -> Inventory:
        raise AgentError("failed", "the driver \x1b[2J hangs")


def test_gpus_are_counted_by_state_and_an_unread_memory_is_not_free():
    found = inside.gpus(inventory(used=(0, 1 << 36, None)))
    assert (found.state, found.values["free"], found.values["unknown"]) == ("warn", [0], [2])
    assert found.told == "3 x H200 128.0 GiB: 1 free, 1 held, 1 unknown"
    none = inside.gpus(inventory())
    assert (none.state, "no library" in none.told) == ("unknown", True)


def test_a_driver_that_is_not_told_is_unknown():
    assert inside.driver(Preflight(hardware=Hardware(driver="580.1", cuda="13.0"))).told == "driver 580.1, CUDA 13.0"
    none = inside.driver(Preflight(hardware=Hardware(unread={"gpus": "NVML: not found"})))
    assert (none.state, "NVML: not found" in none.told) == ("unknown", True)


def test_servers_of_ours_and_of_others_are_told_apart_and_what_could_not_be_seen_is_said():
    run = ServerRun("r1", ME, ["python"], {}, "/", "/log", 0, 30000, 0.0, "running")
    ended = replace(run, run_id="r0", state="exited")
    found = inside.servers(inventory(launcher(70, 7, "/their/python"), used=(1,), runs=(ended, run)))
    assert found.values == {
        "runs": [{"id": "r1", "port": 30000, "operator": ME}],
        "others": [{"pid": 70, "user": "u7"}],
    }
    assert "files of 3 processes could not be looked into" in found.told


async def trees(config: NodeConfig, there: dict[str, str], **facts: Any) -> tuple[Node, list[Any]]:
    node = Node(config, there)
    ours, theirs = launcher(70, UID, "/run/ours/bin/python"), launcher(71, 7, "/run/theirs/bin/python")
    told = await inside.trees(node, Facts(one={"uid": "1000"}, **facts), inventory(ours, theirs, used=(1,)))
    return node, told


async def test_several_environments_are_asked_each_tree_is_a_line_and_nobody_elses_python_is_run():
    venvs = (Venv("/a/bin/python", "1000"), Venv("/b/bin/python", "0"), Venv("/theirs/bin/python", "7"))
    pythons = (Python("python3", "/usr/bin/python3", "Python 3.11.2"), Python("python3.13", "/shim", "not found"))
    there = {"/a/bin/python": "/a/sglang", "/b/bin/python": "/b/sglang", "/usr/bin/python3": "/b/sglang"}
    config = NodeConfig(env={"PYTHONPATH": "/x"}, python=("/conf/python",))
    node, found = await trees(config, there, venvs=venvs, pythons=pythons)
    assert list(node.asked) == [
        "/conf/python",
        "/run/ours/bin/python",
        "/a/bin/python",
        "/b/bin/python",
        "/usr/bin/python3",
    ]
    assert node.asked["/conf/python"] == {"PYTHONPATH": "/x"}
    assert node.asked["/a/bin/python"] == {}, "the node's variables are for its own interpreter"
    assert [each.values.get("root") for each in found] == ["/a/sglang", "/b/sglang", None]
    assert found[1].values["pythons"] == ["/b/bin/python", "/usr/bin/python3"]
    assert (found[2].state, found[2].told) == ("unknown", "not asked: 1 environments of other accounts")


async def test_a_serving_python_without_sglang_is_bad_and_none_at_all_is_a_warning():
    _, found = await trees(NodeConfig(serving_python="/srv/python"), {})
    assert [each.state for each in found] == ["bad"]
    assert "/srv/python" in found[0].told
    _, found = await trees(NodeConfig(), {})
    assert [each.state for each in found] == ["warn"]


async def test_there_is_a_limit_to_what_is_asked_and_it_is_said():
    venvs = tuple(Venv(f"/v{i}/bin/python", "1000") for i in range(40))
    node, found = await trees(NodeConfig(), {}, venvs=venvs)
    assert len(node.asked) == inside.MAX_TREES
    assert [each.state for each in found] == ["warn", "unknown"]
    assert "25 more interpreters" in found[1].told


async def test_an_agent_that_cannot_look_makes_one_unknown_line_plain():
    (only,) = [check async for check in inside.checks(Node(NodeConfig(), {}), Facts())]
    assert (only.state, only.told) == ("unknown", "the agent could not look: the driver ␛[2J hangs")
    assert json.dumps(only.to_json())
