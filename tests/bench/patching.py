"""`python -m tests.bench.patching`: eagle3-shapes on sglang 0.5.12.post1 over loopback SSH, step by step.

Design 12 asks for less than a second beyond what the serving Python needs to compile; that is timed alone beside it.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import statistics
import sys
import tempfile
import time
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from console import yaml_file
from console.actions import apply_patch, deliver, revert_patch
from console.actions.node import silent
from console.actions.patch_state import DELIVERIES, PatchRequest
from console.cli._nodes import open_node
from console.cli._shared import Options
from console.patches import plan as planning
from tests.e2e import sshd
from tests.wheels import released

if TYPE_CHECKING:
    from console.actions.node import Node

RUNS = 7
VERSION = "0.5.12.post1"
NODE = "gpu-node-1"
REQUESTS = {
    "a profile's files": PatchRequest(profile="bench"),
    "every model file": PatchRequest(ids=("eagle3-shapes",), all_models=True),
}
OPTIONS = Options("patch", as_json=False, yes=True, dry_run=False, readonly=False, accept_new_host_key=False)


def main() -> None:
    if sshd.SSHD is None:
        print("no sshd on this machine: nothing was measured")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with zipfile.ZipFile(released.excerpt(VERSION)) as archive:
            archive.extractall(folder / "site")
        (folder / "site" / "sglang" / "__init__.py").touch()
        os.environ["SPEC_CONSOLE_HOME"] = str(folder / "console")
        (folder / "console" / "config").mkdir(parents=True)
        config = {"python": [sys.executable], "env": {"PYTHONPATH": str(folder / "site")}, "gpu_source": "none"}
        config |= {"state_dir": str(folder / "state"), "lock_dir": name}
        (folder / "console" / "config" / "nodes.yaml").write_text(yaml_file.dump({NODE: config}))
        _write_profile(folder)
        server = sshd.start(folder / "sshd")
        os.environ.update(server.environ())
        try:
            asyncio.run(_measure())
        finally:
            server.stop()


def _write_profile(folder: Path) -> None:
    for name, architecture in (("target", "DeepseekV3ForCausalLM"), ("draft", "LlamaForCausalLMEagle3")):
        (folder / name).mkdir()
        (folder / name / "config.json").write_text(json.dumps({"architectures": [architecture]}))
    speculative = {"algorithm": "EAGLE3", "draft_model_path": str(folder / "draft")}
    profile = {"name": "bench", "log_path": str(folder / "x.log"), "model_path": str(folder / "target"), "port": 30000}
    profile |= {"python": sys.executable, "speculative": speculative, "patches": ["eagle3-shapes"]}
    (folder / "console" / "config" / "profiles").mkdir()
    (folder / "console" / "config" / "profiles" / "bench.yaml").write_text(yaml_file.dump(profile))


async def _measure() -> None:
    async with open_node(NODE, OPTIONS, reconnect=False) as node:
        for which, delivery in itertools.product(REQUESTS, DELIVERIES):
            request = replace(REQUESTS[which], delivery=delivery)
            rows = [await _once(node, request) for _ in range(RUNS)]
            plan, whole, alone = (statistics.median(column) for column in zip(*rows, strict=True))
            beyond = statistics.median(row[0] + row[1] - row[2] for row in rows)
            print(
                f"{delivery:9} plan {plan:.2f} s, apply to compiled {whole:.2f} s, compile alone {alone:.2f} s: "
                f"{beyond:.2f} s beyond it (target < 1 s; {which}, {RUNS} runs)"
            )


async def _once(node: Node, request: PatchRequest) -> tuple[float, float, float]:
    planning._patched.cache_clear()  # as a console that has not seen this tree
    started = time.monotonic()
    plan = await apply_patch.plan(node, request)
    planned = time.monotonic()
    outcome = await deliver.run(node, plan, silent)
    done = time.monotonic()
    assert outcome.ok, outcome.proof
    paths = [f"{outcome.root}/{file.path}" for file in outcome.files if file.compiled]
    if request.delivery == "overlay":
        (made,) = await node.agent.overlays()
        paths = [f"{made.path}/files/{file.path}" for file in outcome.files if file.compiled]
    before = time.monotonic()
    await node.agent.compile(plan.tree.python, paths)
    alone = time.monotonic() - before
    back = await revert_patch.run(node, await revert_patch.plan(node, request), silent)
    assert back.ok, back.proof
    return planned - started, done - planned, alone


if __name__ == "__main__":
    main()
