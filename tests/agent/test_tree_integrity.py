"""What `patch verify` says of a tree beside the release: the real agent, trees that pip and git made, real patches."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import asynccontextmanager

import pytest

from console.actions import apply_patch, revert_patch, tree_integrity
from console.actions.node import Node, silent
from console.actions.patch_state import PatchRequest, find_tree
from console.config import NodeConfig
from console.launch.library import Library
from console.store.journal import Journal
from tests import installed

LLAMA = "srt/models/llama_eagle3.py"
VERSION = "9.0.1"


@pytest.fixture
def python():
    """One is enough here: test_trees asks the agent on every Python."""
    return sys.executable


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    return installed.index(tmp_path_factory.mktemp("index"), VERSION, "9.0.2")


@pytest.fixture(scope="module")
def pristine(tmp_path_factory, index):
    folder = tmp_path_factory.mktemp("pristine")
    installed.install(installed.wheel(folder / "wheels", VERSION), folder / "venv")
    return folder / "venv"


@pytest.fixture(autouse=True)
def own_index(monkeypatch):
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)


@pytest.fixture
def environment(pristine, tmp_path):
    shutil.copytree(pristine, tmp_path / "venv", symlinks=True)
    return tmp_path / "venv"


@pytest.fixture
def package(environment):
    (found,) = environment.glob("lib/python3*/site-packages/sglang")
    return found


@pytest.fixture
def opened(connect, tmp_path):
    @asynccontextmanager
    async def _opened(**env):
        async with connect() as agent:
            with Journal(tmp_path / "runs.sqlite3") as journal:
                yield Node("here", NodeConfig(env=env), agent, Library(()), journal)

    return _opened


class Tree:
    """One tree as the user's commands see it, by the Python that serves it."""

    def __init__(self, node, python, cache, index):
        self.node, self.python, self.cache, self.index = node, str(python), cache, index
        self.request = PatchRequest(all_models=True, delivery="in-place", python=self.python)

    async def apply(self):
        outcome = await apply_patch.run(self.node, await apply_patch.plan(self.node, self.request), silent)
        assert outcome.ok, list(outcome.lines())
        return [file.path for file in outcome.files if file.state == "applied"]

    async def revert(self):
        return await revert_patch.run(self.node, await revert_patch.plan(self.node, self.request), silent)

    async def integrity(self, index=None):
        tree = await find_tree(self.node, self.python)
        return await tree_integrity.hand_edits(self.node, tree, cache=self.cache, index_url=index or self.index)

    async def verify(self):
        patches = await apply_patch.verify(self.node, self.request)
        return tree_integrity.Verified(patches, await self.integrity())

    async def brief(self):
        tree = await find_tree(self.node, self.python)
        return await tree_integrity.brief(self.node, tree.root, tree.ledger)


@pytest.fixture
def tree_of(tmp_path, index):
    return lambda node, environment: Tree(node, environment / "bin" / "python", tmp_path / "wheels", index)


async def test_our_patches_alone_are_ours_and_no_edit(opened, tree_of, environment):
    async with opened() as node:
        tree = tree_of(node, environment)
        assert (await tree.integrity()).clean is True
        applied = await tree.apply()
        found = await tree.integrity()
        assert {change.path for change in found.ours} == set(applied)
        assert (found.edits, found.clean, found.ok) == ((), True, True)
        verified = await tree.verify()
        assert verified.ok
        assert verified.to_json()["tree"]["clean"] is True
        assert {file["state"] for file in verified.to_json()["files"]} == {"applied", "not-applicable"}
        assert await tree.brief() == ""
        assert (await tree.revert()).ok
        assert (await tree.integrity()).ours == ()


async def test_a_hand_edit_shows_with_its_diff_against_the_release(opened, tree_of, environment, package):
    (package / installed.BIG).write_bytes(installed.sources(VERSION)[installed.BIG] + b"HAND = 1\n")
    (package / "srt" / "mine.py").write_text("MINE = 2\n")
    async with opened() as node:
        tree = tree_of(node, environment)
        found = await tree.integrity()
        assert [(edit.change, edit.path) for edit in found.edits] == [
            ("modified", installed.BIG),
            ("extra", "srt/mine.py"),
        ]
        changed = [line for line in found.edits[0].diff.splitlines() if line[0] in "+-"]
        assert changed == [f"--- a/sglang/{installed.BIG}", f"+++ b/sglang/{installed.BIG}", "+HAND = 1"]
        assert "+MINE = 2" in found.edits[1].diff
        assert (found.clean, found.ok) == (False, False)
        assert "+HAND = 1" in list(found.lines())
        assert found.to_json()["edits"][0]["diff"] == found.edits[0].diff
        first = await tree.brief()
        (package / "srt" / "mine.py").write_text("MINE = 3\n")
        assert first is not None
        assert first.startswith("2 files ")
        assert first != await tree.brief()


async def test_an_edit_on_top_of_a_patch_shows_without_our_lines_and_needs_no_index(
    opened, tree_of, environment, package
):
    async with opened() as node:
        tree = tree_of(node, environment)
        assert LLAMA in await tree.apply()
        with (package / LLAMA).open("a") as file:
            file.write("HAND = 1\n")
        found = await tree.integrity(index="http://127.0.0.1:9/simple")
    (edit,) = found.edits
    assert (edit.path, edit.patches != ()) == (LLAMA, True)
    assert [line for line in edit.diff.splitlines() if line.startswith("+")][1:] == ["+HAND = 1"]
    assert "spec-console" not in edit.diff


async def test_an_edit_under_a_patch_is_no_part_of_the_patch(opened, tree_of, environment, package):
    with (package / LLAMA).open("a") as file:
        file.write("HAND = 1\n")
    async with opened() as node:
        tree = tree_of(node, environment)
        assert LLAMA in await tree.apply()
        found = await tree.integrity()
    (edit,) = found.edits
    assert edit.path == LLAMA
    assert [line for line in edit.diff.splitlines() if line.startswith("+")][1:] == ["+HAND = 1"]


async def test_a_patch_of_another_account_is_ours_by_its_lines_but_counts_for_a_probe(
    opened, tree_of, environment, tmp_path
):
    async with opened() as node:
        applied = await tree_of(node, environment).apply()
    shutil.rmtree(tmp_path / "state" / "ledger")
    async with opened() as node:
        tree = tree_of(node, environment)
        found = await tree.integrity()
        assert {change.path for change in found.ours} == set(applied)
        assert found.edits == ()
        assert (await tree.brief() or "").startswith(f"{len(set(applied))} files ")


async def test_a_line_that_carries_our_mark_and_is_none_of_ours_is_an_edit(opened, tree_of, environment, package):
    with (package / LLAMA).open("a") as file:
        file.write("import antigravity  # spec-console eagle3-shapes\n")
    async with opened() as node:
        found = await tree_of(node, environment).integrity()
    (edit,) = found.edits
    assert "+import antigravity  # spec-console eagle3-shapes" in edit.diff


async def test_without_an_index_the_hashes_are_shown_and_why(opened, tree_of, environment, package):
    (package / LLAMA).write_text("HAND = 1\n")
    async with opened() as node:
        found = await tree_of(node, environment).integrity(index="http://127.0.0.1:9/simple")
    (edit,) = found.edits
    assert edit.diff == ""
    assert "the released text is not at hand: pip could not get sglang 9.0.1" in edit.why
    told = "\n".join(found.lines())
    assert edit.sha256_recorded in told
    assert edit.sha256_now in told


async def test_a_release_that_the_index_has_otherwise_gives_no_diff(opened, tree_of, environment, package, tmp_path):
    (package / LLAMA).write_text("HAND = 1\n")
    other = installed.index(tmp_path / "other", "9.0.2")
    (made,) = (tmp_path / "other").rglob("*.whl")
    renamed = made.with_name(made.name.replace("9.0.2", VERSION))
    info = next((environment / "lib").rglob("sglang-*.dist-info"))
    (info / "METADATA").write_text("Name: sglang\nVersion: 9.0.2\n")
    assert not renamed.exists()
    async with opened() as node:
        found = await tree_of(node, environment).integrity(index=other)
    (edit,) = found.edits
    assert (edit.diff, edit.why) == ("", "the index has another build of this release than is installed")


async def test_a_dirty_checkout_shows_commit_and_diff_and_our_patches_apart(opened, tmp_path, tree_of, environment):
    package = installed.checkout(tmp_path / "sglang")
    python = environment / "bin" / "python"
    async with opened(PYTHONPATH=str(package.parent)) as node:
        tree = Tree(node, python, tmp_path / "wheels", None)
        clean = await tree.integrity()
        assert (clean.compared.basis, clean.compared.branch, clean.clean) == ("git", "main", True)
        applied = await tree.apply()
        with (package / LLAMA).open("a") as file:
            file.write("HAND = 1\n")
        found = await tree.integrity()
        assert {change.path for change in found.ours} == set(applied) - {LLAMA}
        (edit,) = found.edits
        assert [line for line in edit.diff.splitlines() if line.startswith("+")][1:] == ["+HAND = 1"]
        assert f"beside commit {found.compared.commit[:12]} (main)" in found.proof
        assert (await tree.brief() or "").startswith("1 files ")


async def test_each_venv_is_judged_by_its_own_python(opened, tree_of, environment, pristine, tmp_path, package):
    shutil.copytree(pristine, tmp_path / "other", symlinks=True)
    (package / LLAMA).write_text("HAND = 1\n")
    async with opened() as node:
        edited = await tree_of(node, environment).integrity(index="http://127.0.0.1:9/simple")
        other = await tree_of(node, tmp_path / "other").integrity()
        applied = await tree_of(node, tmp_path / "other").apply()
        after = await tree_of(node, environment).integrity(index="http://127.0.0.1:9/simple")
    assert [edit.path for edit in edited.edits] == [LLAMA]
    assert other.edits == ()
    assert applied
    assert (after.ours, after.edits) == ((), edited.edits)


async def test_an_upgrade_over_a_patch_is_said_and_what_is_left_of_ours_is_ours(
    opened, tree_of, environment, package, tmp_path
):
    async with opened() as node:
        tree = tree_of(node, environment)
        applied = await tree.apply()
        installed.install(installed.wheel(tmp_path / "new", "9.0.2"), environment)
        found = await tree.integrity()
    assert found.compared.version == "9.0.2"
    assert found.edits == ()
    assert LLAMA in found.replaced
    left = {change.path for change in found.ours}
    assert left == {path for path in applied if "_spec_console_" in path}, "pip knows nothing of our runtime files"
    assert any(LLAMA in line and "replaced" in line for line in found.lines())
    assert found.ok is False


async def test_a_tree_behind_a_link_is_compared_patched_and_reverted(opened, tree_of, environment, package, tmp_path):
    (environment / "lib").rename(tmp_path / "lib-elsewhere")
    (environment / "lib").symlink_to(tmp_path / "lib-elsewhere")
    before = {path: path.read_bytes() for path in (tmp_path / "lib-elsewhere").rglob("*.py")}
    async with opened() as node:
        tree = tree_of(node, environment)
        applied = await tree.apply()
        found = await tree.integrity()
        assert {change.path for change in found.ours} == set(applied)
        assert found.edits == ()
        assert (await tree.revert()).ok
        assert (await tree.integrity()).ours == ()
    assert {path: path.read_bytes() for path in (tmp_path / "lib-elsewhere").rglob("*.py")} == before


async def test_a_tree_of_which_nothing_is_known_is_not_called_clean(opened, tree_of, environment, package):
    shutil.rmtree(next(package.parent.glob("sglang-*.dist-info")))
    async with opened() as node:
        tree = tree_of(node, environment)
        found = await tree.integrity()
        assert (found.clean, found.ok) == (None, True)
        assert "no RECORD lists this tree" in found.proof
        assert await tree.brief() is None
