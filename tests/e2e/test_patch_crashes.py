"""The console is killed at its calls to the agent while it patches; the next connect says what was cut short.

By default around each first and last change of the tree; with SPEC_CONSOLE_FULL=1 around every call, overlays too.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from console import yaml_file
from console.actions import recover, revert_patch
from console.actions.patch_state import PatchRequest
from console.cli._nodes import open_node
from console.cli._shared import Options
from remote_agent.steps import FAULT
from tests.cli import PROGRAM, Console, free_port
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.actions.node import Node

ROOT = Path(__file__).parents[2]
FULL = bool(os.environ.get("SPEC_CONSOLE_FULL"))
APPLY = ("patch", "apply", "local", "eagle3-shapes", "--all-models", "--delivery", "in-place", "--yes")
OVERLAY = ("patch", "apply", "local", "eagle3-shapes", "--all-models", "--delivery", "overlay", "--yes")
REVERT = ("patch", "revert", "local", "--yes")
VERBS = {"apply": APPLY, "overlay": OVERLAY, "revert": REVERT}
MOMENTS = ("before", "sent", "answered")
CHANGES = ("files.put", "files.apply", "files.restore", "overlays.write", "overlays.remove")
READ_ONLY = Options("status", False, False, False, True, False)
MAY_CHANGE = Options("patch", False, False, False, False, False)


@dataclass(slots=True)
class Patched:
    """A tree that `local` serves, with what it held at first."""

    folder: Path
    console: Console
    before: dict[str, str]

    def hashes(self) -> dict[str, str]:
        files = [path for path in (self.folder / "site").rglob("*") if path.is_file() and path.suffix != ".pyc"]
        return {str(path.relative_to(self.folder)): _sha(path) for path in files}

    def environ(self, **more: str) -> dict[str, str]:
        return {**self.console.environ(), **more}

    def run_killed(self, at: str, words: Sequence[str], **more: str) -> int:
        done = subprocess.run(
            [sys.executable, "-m", "tests.e2e.killed_console", at, *words],
            env=self.environ(**more),
            cwd=ROOT,
            capture_output=True,
            timeout=60,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        return done.returncode

    def agents(self) -> list[str]:
        """Agents of ours that still finish what they were asked for."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = path.read_bytes().split(b"\0")
            except OSError:
                continue
            if str(self.folder / "state").encode() in words:
                found.append(path.parent.name)
        return found


@pytest.fixture
def patched(tmp_path, monkeypatch) -> Patched:
    site = tmp_path / "site"
    shutil.copytree(ROOT / "console/demo/standin/sglang", site / "sglang", ignore=shutil.ignore_patterns("*.pyc"))
    console = Console(tmp_path / "home", free_port())
    config = tmp_path / "home" / "config"
    config.mkdir(parents=True)
    node = {
        "python": [sys.executable],
        "env": {"PYTHONPATH": str(site)},
        "gpu_source": "none",
        "state_dir": str(tmp_path / "state"),
        "lock_dir": str(tmp_path),
        "cache_dir": str(tmp_path / "cache"),
    }
    (config / "nodes.yaml").write_text(yaml_file.dump({"local": node}))
    monkeypatch.setenv("SPEC_CONSOLE_HOME", str(tmp_path / "home"))
    made = Patched(tmp_path, console, {})
    made.before = made.hashes()
    return made


@pytest.mark.slow
async def test_a_console_that_is_killed_leaves_each_file_original_or_applied(patched):
    """Applying and reverting, each from where an undisturbed console left off."""
    for verb in (*(("overlay", "revert") if FULL else ()), "apply", "revert"):
        start = _kept(patched)
        calls = _undisturbed(patched, VERBS[verb])
        after = patched.hashes()
        chosen = _chosen(calls)
        print(verb, len(calls), len(chosen))
        for moment, nth in chosen:
            _put(patched, start)
            start_hashes = patched.hashes()
            assert patched.run_killed(f"{moment}:{nth}", VERBS[verb]) == -signal.SIGKILL, (verb, moment, nth)
            await until(lambda: not patched.agents())
            now = patched.hashes()
            for path in now.keys() | start_hashes.keys() | after.keys():
                assert now.get(path) in (start_hashes.get(path), after.get(path)), (verb, moment, calls[nth - 1], path)
            async with open_node("local", MAY_CHANGE, reconnect=False) as node:
                said: list[str] = []
                await recover.on_connect(node, said.append, change=True)
                assert said == [], "the agent outlives its console by what it was asked for"
                await _assert_consistent(patched, node)
                await _revert(node)
            assert patched.hashes() == patched.before, (verb, moment, nth)
        _put(patched, start)
        _undisturbed(patched, VERBS[verb])
    assert patched.hashes() == patched.before


@pytest.mark.slow
async def test_the_next_connect_says_what_was_cut_short_and_finishes_it(patched):
    code = subprocess.run(
        [*PROGRAM, *APPLY],
        env=patched.environ(**{FAULT: "apply.swapped:2"}),
        capture_output=True,
        check=False,
        stdin=subprocess.DEVNULL,
    ).returncode
    assert code == 7, "the agent died: what became of the change is not known"
    half = patched.hashes()
    assert half != patched.before

    said: list[str] = []
    async with open_node("local", READ_ONLY, reconnect=False) as node:
        await recover.on_connect(node, said.append, change=True)
    assert said[0].startswith("cut short: applying eagle3-shapes in ")
    assert "begun by " in said[0]
    applied, original = (_listed(said, state) for state in ("applied", "original"))
    assert (len(applied), len(original)) == (2, len(applied + original) - 2)
    assert said[-1].startswith("the next `patch apply`")
    assert patched.hashes() == half, "a read-only connect only tells"

    said.clear()
    async with open_node("local", MAY_CHANGE, reconnect=False) as node:
        await recover.on_connect(node, said.append, change=True)
        (entry,) = await node.agent.ledger("")
        assert entry.state == "applied"
        assert sorted(applied + original) == sorted(file.path for file in entry.files)
        assert (await recover.unfinished(node)).entries == []
        assert "patch recover" in [action.verb for action in node.journal.list_actions("local")]
    assert said[-1].endswith(": finished")
    code, told, narration = patched.console.run("patch", "verify", "local", "eagle3-shapes", "--all-models")
    assert code == 0, narration
    assert {file["state"] for file in told["files"] if file["path"] in applied + original} == {"applied"}
    assert patched.console.run(*REVERT)[0] == 0
    assert patched.hashes() == patched.before


@pytest.mark.slow
async def test_a_release_installed_over_a_patch_is_left_said_once_and_in_nobodys_way(patched):
    assert patched.console.run(*APPLY)[0] == 0
    model = patched.folder / "site/sglang/srt/models/llama_eagle3.py"
    original = ROOT / "console/demo/standin/sglang/srt/models/llama_eagle3.py"
    model.write_bytes(original.read_bytes() + b"# a newer release\n")
    newer = _sha(model)
    code, told, _ = patched.console.run(*REVERT)
    assert code == 1
    files = {file["path"]: file for file in told["files"]}
    drifted = files.pop("srt/models/llama_eagle3.py")
    assert drifted["state"] == "drifted"
    assert "it was replaced since" in drifted["why"]
    aside = Path(drifted["why"].rsplit(" ", 1)[-1])
    assert aside.read_bytes() == original.read_bytes()
    assert aside.is_relative_to(patched.folder / "state" / "stale")
    assert {file["state"] for file in files.values()} == {"original"}
    assert patched.console.run(*REVERT)[0] == 0, "it is closed: nothing is ours any more"
    assert _sha(model) == newer
    assert patched.console.run(*APPLY)[0] == 0
    assert patched.console.run(*REVERT)[0] == 0
    assert _sha(model) == newer


def _undisturbed(patched: Patched, words: Sequence[str]) -> list[str]:
    """Run it to its end; the calls that it made."""
    calls = patched.folder / "calls"
    assert patched.run_killed("never:0", words, CALLS=str(calls)) == 0
    return calls.read_text().split("\n")


def _chosen(calls: list[str]) -> list[tuple[str, int]]:
    if FULL:
        return [(moment, nth) for nth in range(1, len(calls) + 1) for moment in MOMENTS]
    chosen: list[tuple[str, int]] = []
    for name in CHANGES:
        nths = [nth for nth, call in enumerate(calls, 1) if call == name]
        moments = ("sent",) if name == "files.put" else MOMENTS
        chosen += [(moment, nth) for nth in {*nths[:1], *nths[-1:]} for moment in moments]
    assert chosen
    return chosen


def _kept(patched: Patched) -> Path:
    kept = patched.folder / "kept"
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir()
    for name in ("site", "state"):
        if (patched.folder / name).exists():
            shutil.copytree(patched.folder / name, kept / name)
    return kept


def _put(patched: Patched, kept: Path) -> None:
    for name in ("site", "state"):
        shutil.rmtree(patched.folder / name, ignore_errors=True)
        if (kept / name).exists():
            shutil.copytree(kept / name, patched.folder / name)


async def _assert_consistent(patched: Patched, node: Node) -> None:
    """The ledger says applied for exactly the files that are not what they were; overlays are whole."""
    now, entries = patched.hashes(), await node.agent.ledger("")
    assert {entry.state for entry in entries} <= {"applied"}
    changed = {path for path in now.keys() | patched.before.keys() if now.get(path) != patched.before.get(path)}
    files = {f"site/sglang/{file.path}": file.sha256_after for entry in entries for file in entry.files}
    assert files == {path: now[path] for path in changed}
    assert [each.broken for each in await node.agent.overlays() if each.broken] == []


async def _revert(node: Node) -> None:
    plan = await revert_patch.plan(node, PatchRequest(python=sys.executable))
    outcome = await revert_patch.run(node, plan, lambda _line: None)
    assert outcome.ok, outcome.proof
    assert await node.agent.ledger("") == []


def _listed(said: list[str], state: str) -> list[str]:
    (line,) = [line for line in said if line.startswith(f"  {state}: ")]
    return line.removeprefix(f"  {state}: ").split(", ")


def _sha(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
