"""Files that changed under a patch, patches on top of each other, and trees that cannot be written."""

from __future__ import annotations

import os
import shutil

import pytest

from console.errors import NodeLost
from console.remote.agent import NodeError, NodeRefused
from remote_agent.steps import FAULT
from tests.agent.patched_tree import NEW, NO_ROOT_POWER, ORIGINALS, PatchedTree, patched, sha

LLAMA = "srt/models/llama.py"


@pytest.fixture
def tree(tmp_path) -> PatchedTree:
    return PatchedTree(tmp_path)


async def _by_path(agent, tree):
    return {each.path: each for each in await agent.restore_files(str(tree.root))}


async def test_patches_on_top_of_each_other_come_off_in_order_within_one_second(connect, tree):
    async with connect() as agent:
        for mark in ("one", "two", "three", "four"):
            await tree.apply(agent, mark, [LLAMA])
        assert [entry.patches for entry in await agent.ledger("")] == [["one"], ["two"], ["three"], ["four"]]
        assert {each.outcome for each in await agent.restore_files(str(tree.root))} == {"restored"}
        assert await agent.ledger("") == []
    tree.assert_original()


async def test_a_file_that_was_edited_on_top_stays_and_only_it_stays_in_the_ledger(connect, tree):
    edited = patched(ORIGINALS[LLAMA], "one") + b"by_hand = True\n"
    async with connect() as agent:
        await tree.apply(agent, "one")
        tree.write(LLAMA, edited)
        outcomes = await _by_path(agent, tree)
        assert {path: each.outcome for path, each in outcomes.items()} == {
            "srt/server.py": "restored",
            LLAMA: "drifted",
            "srt/models/draft.py": "restored",
            NEW: "removed",
        }
        assert "changed after the patch" in outcomes[LLAMA].reason
        (entry,) = await agent.ledger("")
        assert (entry.state, [file.path for file in entry.files]) == ("drifted", [LLAMA])
        assert tree.read(LLAMA) == edited
        assert (await agent.unfinished()).entries == [], "a file of somebody's is not unfinished work"
        await tree.apply(agent, "two", ["srt/server.py"])
        await _by_path(agent, tree)
        tree.write(LLAMA, edited.replace(b"by_hand = True\n", b""))
        assert (await _by_path(agent, tree))[LLAMA].outcome == "restored", "without the edit it comes off"
        assert await agent.ledger("") == []
    tree.assert_original()


async def test_a_file_that_pip_replaced_stays_its_old_original_lies_aside_and_nothing_is_blocked(connect, tree):
    async with connect() as agent:
        await tree.apply(agent, "one")
        tree.write(LLAMA, b"import torch\nllama = 2\n")
        (tree.root / "srt/models/draft.py").unlink()  # a release that has no such file any more
        tree.write("srt/server.py", ORIGINALS["srt/server.py"])  # the same in both releases
        outcomes = await _by_path(agent, tree)
        assert {path: each.outcome for path, each in outcomes.items()} == {
            "srt/server.py": "original",
            LLAMA: "replaced",
            "srt/models/draft.py": "replaced",
            NEW: "removed",
        }
        assert tree.read(LLAMA) == b"import torch\nllama = 2\n"
        assert tree.read("srt/models/draft.py") is None
        for path in (LLAMA, "srt/models/draft.py"):
            (kept,) = (tree.state / "stale").glob(f"*/{path}")
            assert kept.read_bytes() == ORIGINALS[path]
            assert str(kept) in outcomes[path].reason
        assert await agent.ledger("") == []
        assert ("stale", "") in [(item.kind, item.in_use) for item in (await agent.footprint()).items]
        await tree.apply(agent, "two", [LLAMA])
        assert (await _by_path(agent, tree))[LLAMA].outcome == "restored"
    assert tree.read(LLAMA) == b"import torch\nllama = 2\n"


async def test_of_a_change_cut_short_a_file_that_moved_on_is_left_and_the_rest_undone(connect, tree):
    async with connect() as agent:
        changes = await tree.put(agent, "one")
    async with connect(prefix=("env", f"{FAULT}=apply.swapped:2")) as agent:
        with pytest.raises(NodeLost):
            await agent.apply_files(str(tree.root), ["one"], changes)
    edited = patched(ORIGINALS[LLAMA], "one") + b"by_hand = True\n"
    tree.write(LLAMA, edited)
    async with connect() as agent:
        (cut,) = (await agent.unfinished()).entries
        assert [file.outcome for file in cut.files] == ["applied", "drifted", "original", "original"]
        with pytest.raises(NodeRefused, match="one by tester@here, is not finished"):
            await tree.apply(agent, "two")
        (done,) = (await agent.recover()).entries
        assert done.outcome == "left"
        assert done.reason == f"{LLAMA} is neither its original nor its new text"
        (entry,) = await agent.ledger("")
        assert (entry.state, [file.path for file in entry.files]) == ("drifted", [LLAMA])
        assert (await agent.recover()).entries == [], "once is enough"
    assert (tree.read(LLAMA), tree.read("srt/server.py")) == (edited, ORIGINALS["srt/server.py"])


async def test_a_change_cut_short_in_a_tree_that_is_gone_is_closed(connect, tree):
    async with connect() as agent:
        changes = await tree.put(agent, "one")
    async with connect(prefix=("env", f"{FAULT}=apply.swapped:2")) as agent:
        with pytest.raises(NodeLost):
            await agent.apply_files(str(tree.root), ["one"], changes)
    shutil.rmtree(tree.root.parent)
    async with connect() as agent:
        (done,) = (await agent.recover()).entries
        assert done.outcome == "undone"
        assert await agent.ledger("") == []
    assert not tree.root.parent.exists()


@pytest.mark.parametrize("where", [".", "sglang/srt/models"])
async def test_a_tree_without_write_permission_is_not_changed_and_the_overlay_is_named(connect, tree, where):
    prefix = () if os.geteuid() else NO_ROOT_POWER
    folder = (tree.root.parent / where).resolve()
    async with connect(prefix=prefix) as agent:
        changes = await tree.put(agent, "one")
        folder.chmod(0o555)
        try:
            with pytest.raises(NodeRefused, match=r"nothing was changed: .*Permission denied") as caught:
                await agent.apply_files(str(tree.root), ["one"], changes)
        finally:
            folder.chmod(0o755)
        assert str(folder) in caught.value.message
        assert "--delivery overlay" in caught.value.hint
        assert await agent.ledger("") == []
    tree.assert_original()


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="mounting needs root")
@pytest.mark.parametrize("whole", [True, False], ids=["site-packages", "sglang"])
async def test_a_read_only_mount_is_not_changed_and_the_overlay_is_named(connect, tree, whole):
    place = tree.root.parent if whole else tree.root
    mount = f'mount --bind -o ro {place} {place} && exec "$@"'
    async with connect(prefix=("unshare", "-m", "sh", "-c", mount, "sh")) as agent:
        changes = await tree.put(agent, "one")
        with pytest.raises(NodeRefused, match=r"nothing was changed: .*Read-only file system") as caught:
            await agent.apply_files(str(tree.root), ["one"], changes)
        assert str(place) in caught.value.message
        assert "--delivery overlay" in caught.value.hint
        assert await agent.ledger("") == []
    tree.assert_original()


@pytest.mark.skipif(os.geteuid() != 0, reason="giving a file away needs root")
async def test_when_a_swap_is_forbidden_midway_the_swapped_files_are_taken_back(connect, tree):
    tree.forbid_swap(LLAMA)
    async with connect(prefix=NO_ROOT_POWER) as agent:
        changes = await tree.put(agent, "one")
        assert [change.path for change in changes].index(LLAMA) == 1, "one file is swapped before it"
        with pytest.raises(NodeRefused, match=r"nothing was changed: .*llama\.py: Operation not permitted"):
            await agent.apply_files(str(tree.root), ["one"], changes)
        assert await agent.ledger("") == []
        assert tree.temporaries() == []
    tree.assert_original()


async def test_a_revert_that_is_forbidden_is_tried_again_on_the_next_connect(connect, tree):
    prefix = () if os.geteuid() else NO_ROOT_POWER
    folder = tree.root / "srt" / "models"
    async with connect(prefix=prefix) as agent:
        await tree.apply(agent, "one")
        folder.chmod(0o555)
        try:
            with pytest.raises(NodeRefused, match=r"llama\.py: Permission denied"):
                await agent.restore_files(str(tree.root))
            assert [each.outcome for each in (await agent.recover()).entries] == ["stuck"]
        finally:
            folder.chmod(0o755)
        assert [each.outcome for each in (await agent.recover()).entries] == ["undone"]
        assert await agent.ledger("") == []
    tree.assert_original()


async def test_a_file_whose_original_is_lost_is_left_and_said(connect, tree):
    async with connect() as agent:
        await tree.apply(agent, "one")
        (tree.state / "blobs" / sha(ORIGINALS[LLAMA])).unlink()
        outcomes = await _by_path(agent, tree)
        assert (outcomes[LLAMA].outcome, outcomes["srt/server.py"].outcome) == ("drifted", "restored")
        assert "no content" in outcomes[LLAMA].reason
        tree.write(LLAMA, ORIGINALS[LLAMA])  # installed again
        assert (await _by_path(agent, tree))[LLAMA].outcome == "original"
        assert await agent.ledger("") == []
    tree.assert_original()


async def test_a_temporary_file_of_somebody_else_is_not_removed(connect, tree):
    theirs = tree.root / "srt" / ".spec-console-notes.txt"
    theirs.write_bytes(b"theirs")
    link = tree.root / "srt" / ".spec-console-abcdefgh"
    link.symlink_to(theirs)
    async with connect() as agent:
        await tree.apply(agent, "one")
        await agent.restore_files(str(tree.root))
    assert theirs.read_bytes() == b"theirs"
    assert link.is_symlink()


async def test_a_content_that_is_not_what_was_announced_is_not_kept(connect, tree):
    async with connect() as agent:
        with pytest.raises(NodeRefused, match="not what was announced"):
            await agent.put(sha(b"one"), b"two")
        change, _after = tree.change(LLAMA, "one")
        with pytest.raises(NodeError, match="no content"):
            await agent.apply_files(str(tree.root), ["one"], [change])
        assert tree.temporaries() == []
    tree.assert_original()
