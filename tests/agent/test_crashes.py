"""The agent is killed at every step that its code lists; afterwards each file is its original or its new text.

By default each step is tried once, in one operation that reaches it; with SPEC_CONSOLE_FULL=1 every occurrence of every
step in every operation is.
"""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING

import pytest

from console.errors import NodeLost
from console.remote.agent import NodeRefused
from remote_agent.steps import FAULT, STEPS
from tests.agent.patched_tree import NEW, NO_ROOT_POWER, ORIGINALS, PatchedTree, patched, sha
from tests.pythons import FOUND, PYTHONS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from console.remote.agent import Agent

    Act = Callable[[Agent], Awaitable[None]]
    Prepare = Callable[[Agent], Awaitable[Act]]

FULL = pytest.mark.skipif(not os.environ.get("SPEC_CONSOLE_FULL"), reason="every occurrence: SPEC_CONSOLE_FULL=1")
OVERLAY = "0123456789abcdef"
BIG = b"x" * 500_000


class Operations:
    """Each: bring the node to where it can begin, and give back what is to be cut short."""

    def __init__(self, tree: PatchedTree, connect: Callable[..., object]) -> None:
        self.tree = tree
        self.connect = connect

        self.prefix: tuple[str, ...] = ()
        """What the agent that is to die runs under."""

    async def put(self, _agent: Agent) -> Act:
        return lambda agent: agent.put(sha(BIG), BIG)

    async def apply(self, agent: Agent) -> Act:
        changes = await self.tree.put(agent, "one")
        return lambda agent: agent.apply_files(str(self.tree.root), ["one"], changes)

    async def fail(self, agent: Agent) -> Act:
        """One file must not be replaced: what was swapped before it is taken back."""
        act = await self.apply(agent)
        self.tree.forbid_swap("srt/models/llama.py")
        self.prefix = NO_ROOT_POWER
        return act

    async def restore(self, agent: Agent) -> Act:
        """Two patches, one on top of the other, and what Python compiled."""
        await self.tree.apply(agent, "one")
        await self.tree.apply(agent, "two", ["srt/models/llama.py"])
        cache = self.tree.root / "srt" / "__pycache__"
        cache.mkdir(exist_ok=True)
        (cache / "_probe.cpython-311.pyc").write_bytes(b"")
        return lambda agent: agent.restore_files(str(self.tree.root))

    async def restore_replaced(self, agent: Agent) -> Act:
        """`pip install -U` over a patched file."""
        await self.tree.apply(agent, "one")
        self.tree.write("srt/models/llama.py", b"llama = 2\n")
        return lambda agent: agent.restore_files(str(self.tree.root))

    async def finish(self, agent: Agent) -> Act:
        act = await self.apply(agent)
        await self.cut("apply.swapped:2", act)
        return lambda agent: agent.recover()

    async def undo(self, agent: Agent) -> Act:
        """The new text of one file is gone: what was begun cannot be finished."""
        act = await self.finish(agent)
        after = patched(ORIGINALS["srt/models/draft.py"], "one")
        (self.tree.state / "blobs" / sha(after)).unlink()
        return act

    async def write_overlay(self, agent: Agent) -> Act:
        copy = b"a = 1\n"
        manifest = {"files": [{"path": "srt/a.py", "sha256_after": sha(copy)}]}
        files = {"manifest.json": json.dumps(manifest).encode(), "files/srt/a.py": copy}
        for data in files.values():
            await agent.put(sha(data), data)
        hashes = {path: sha(data) for path, data in files.items()}
        await agent.write_overlay(OVERLAY, hashes)
        return lambda agent: agent.write_overlay(OVERLAY, hashes)

    async def remove_overlay(self, agent: Agent) -> Act:
        await self.write_overlay(agent)
        return lambda agent: agent.remove_overlay(OVERLAY)

    async def cut(self, fault: str, act: Act) -> bool:
        """Run it in an agent that dies at `fault`; False when it was never reached."""
        async with self.connect(prefix=(*self.prefix, "env", f"{FAULT}={fault}")) as agent:
            try:
                await act(agent)
            except NodeLost:
                return True
            except NodeRefused:
                assert self.prefix
        return False


OPERATIONS = (
    "put",
    "apply",
    *(["fail"] if os.geteuid() == 0 else []),
    "restore",
    "restore_replaced",
    "finish",
    "undo",
    "write_overlay",
    "remove_overlay",
)
ONCE = {
    "put.part": ("put", 2),
    "put.whole": ("put", 1),
    "write.opened": ("apply", 6),
    "write.staged": ("apply", 4),
    "write.renamed": ("apply", 7),
    "apply.kept": ("apply", 1),
    "apply.intent": ("apply", 1),
    "apply.staged": ("apply", 3),
    "apply.swapping": ("apply", 1),
    "apply.swapped": ("apply", 2),
    "apply.done": ("apply", 1),
    "apply.applied": ("apply", 1),
    "restore.marked": ("restore", 1),
    "restore.swapping": ("restore", 2),
    "restore.swapped": ("restore", 3),
    "restore.removed": ("restore", 1),
    "restore.aside": ("restore_replaced", 1),
    "restore.done": ("restore", 1),
    "restore.closed": ("restore", 1),
    "recover.swept": ("finish", 1),
    "recover.entry": ("undo", 1),
    "overlay.copied": ("write_overlay", 1),
    "overlay.cleared": ("write_overlay", 1),
    "overlay.placed": ("write_overlay", 1),
    "overlay.removing": ("remove_overlay", 1),
}


@pytest.fixture(params=PYTHONS if os.environ.get("SPEC_CONSOLE_FULL") == "1" else [FOUND[min(FOUND)]])
def python(request: pytest.FixtureRequest) -> str:
    """The oldest alone by default: where a crash comes is not a matter of the interpreter."""
    return str(request.param)


def test_no_step_is_forgotten():
    assert set(ONCE) == set(STEPS)


@pytest.mark.parametrize("step", STEPS)
async def test_a_crash_leaves_each_file_original_or_applied(connect, tmp_path, step):
    operation, nth = ONCE[step]
    assert await _crash(connect, PatchedTree(tmp_path), operation, f"{step}:{nth}"), "the step was reached"


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="giving a file away needs root")
@pytest.mark.parametrize("fault", ["apply.swapped:1", "restore.marked:1", "restore.swapping:1", "restore.closed:1"])
async def test_a_crash_while_a_failed_application_is_taken_back_is_no_worse(connect, tmp_path, fault):
    assert await _crash(connect, PatchedTree(tmp_path), "fail", fault)


@FULL
@pytest.mark.timeout(900)
@pytest.mark.parametrize("operation", OPERATIONS)
async def test_a_crash_at_every_occurrence_of_every_step(connect_in, tmp_path, operation):
    reached = {}
    for step in STEPS:
        reached[step] = 0
        while True:
            folder = tmp_path / f"{step}-{reached[step] + 1}"
            tree = PatchedTree(folder)
            if not await _crash(connect_in(folder), tree, operation, f"{step}:{reached[step] + 1}"):
                break
            reached[step] += 1
    print(operation, {step: count for step, count in reached.items() if count})
    assert sum(reached.values()) > 0


async def _crash(connect, tree: PatchedTree, operation: str, fault: str) -> bool:
    """Cut `operation` at `fault`, check, recover, check, take all back, check. False: `fault` was never reached."""
    operations = Operations(tree, connect)
    async with connect() as agent:
        act = await getattr(operations, operation)(agent)
    if not await operations.cut(fault, act):
        return False
    tree.assert_whole()
    async with connect() as agent:
        await _assert_told(agent, tree)
        done = await agent.recover()
        assert {each.outcome for each in done.entries} <= {"finished", "undone"}
        assert (await agent.unfinished()).entries == []
        assert [path for path in tree.temporaries() if not path.endswith(".part") or "overlays" in path] == []
        ledger = await agent.ledger("")
        if operation == "restore_replaced":
            await _assert_replaced(agent, tree)
            return True
        tree.assert_is(ledger)
        if operation == "put":
            await act(agent)
        await _assert_overlay(agent, operation)
        await agent.restore_files(str(tree.root))
        assert await agent.ledger("") == []
        assert tree.temporaries() == []
    tree.assert_original()
    return True


async def _assert_told(agent: Agent, tree: PatchedTree) -> None:
    """What is said to be original or applied is; and nobody is said to be at it."""
    for cut in (await agent.unfinished()).entries:
        assert cut.holder == ""
        assert cut.entry.operator == "tester@here"
        for file, said in zip(cut.entry.files, cut.files, strict=True):
            now = tree.read(file.path)
            sha256 = None if now is None else sha(now)
            word = {file.sha256_before: "original", file.sha256_after: "applied"}.get(sha256, "drifted")
            assert (said.path, said.outcome) == (file.path, word)


async def _assert_overlay(agent: Agent, operation: str) -> None:
    """It is there whole, or it is not there."""
    for each in await agent.overlays():
        assert operation.endswith("overlay")
        assert each.manifest["files"]
        assert each.broken == []
        assert each.name == OVERLAY


async def _assert_replaced(agent: Agent, tree: PatchedTree) -> None:
    """The others are originals, pip's file stays, what it replaced lies aside, nothing is left in the ledger."""
    await agent.restore_files(str(tree.root))
    assert await agent.ledger("") == []
    assert tree.read("srt/models/llama.py") == b"llama = 2\n"
    assert tree.read(NEW) is None
    assert [path.read_bytes() for path in (tree.state / "stale").rglob("llama.py")] == [
        ORIGINALS["srt/models/llama.py"]
    ]


@pytest.mark.slow
async def test_two_crashes_in_a_row_are_one_crash(connect, tmp_path):
    tree = PatchedTree(tmp_path)
    operations = Operations(tree, connect)
    async with connect() as agent:
        act = await operations.apply(agent)
    assert await operations.cut("apply.swapped:1", act)
    assert await operations.cut("apply.swapped:1", lambda agent: agent.recover())
    assert await operations.cut("apply.swapped:1", lambda agent: agent.recover())
    async with connect() as agent:
        (done,) = (await agent.recover()).entries
        assert done.outcome == "finished"
        tree.assert_is(await agent.ledger(""))
        assert tree.temporaries() == []


async def test_while_its_agent_lives_a_change_is_left_alone(connect, tmp_path, python):
    tree = PatchedTree(tmp_path)
    operations = Operations(tree, connect)
    async with connect() as agent:
        act = await operations.apply(agent)
    assert await operations.cut("apply.swapped:2", act)
    lock = tree.root.parent / ".sglang.spec-console.lock"
    holder = await asyncio.create_subprocess_exec(
        python, "-c", _HOLD, str(lock), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert holder.stdin
    assert holder.stdout
    assert await holder.stdout.readline() == b"held\n"
    try:
        async with connect() as agent:
            (cut,) = (await agent.unfinished()).entries
            assert "eva@desk" in cut.holder
            (done,) = (await agent.recover()).entries
            assert (done.outcome, "eva@desk" in done.reason) == ("busy", True)
            assert [entry.state for entry in await agent.ledger("")] == ["intent"]
    finally:
        holder.stdin.close()
        await holder.wait()
    async with connect() as agent:
        assert (await agent.unfinished()).entries[0].holder == "", "the lock of a dead agent holds nobody up"
        assert (await agent.recover()).entries[0].outcome == "finished"


_HOLD = """
import fcntl, json, os, sys
file = open(sys.argv[1], "w")
fcntl.flock(file, fcntl.LOCK_EX)
json.dump({"operator": "eva@desk", "doing": "files.apply", "pid": os.getpid(), "host": os.uname().nodename}, file)
file.flush()
print("held", flush=True)
sys.stdin.read()
"""
