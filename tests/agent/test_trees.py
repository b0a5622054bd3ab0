"""Comparing an installed tree with RECORD or git, by the real agent over pipes, on trees that pip and git made."""

from __future__ import annotations

import hashlib
import os
import shutil

import pytest

from console.remote.agent import NodeError, NodeRefused, NodeUsage
from tests import installed

LLAMA = "srt/models/llama.py"


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pristine")
    installed.install(installed.wheel(folder / "wheels", "9.0.1"), folder / "venv")
    return folder / "venv"


@pytest.fixture
def package(pristine, tmp_path):
    shutil.copytree(pristine, tmp_path / "venv", symlinks=True)
    (found,) = (tmp_path / "venv").glob("lib/python3*/site-packages/sglang")
    return found


def told(comparison):
    return [(file.state, file.path) for file in comparison.files]


async def test_a_tree_as_pip_left_it_differs_in_nothing(connect, package):
    async with connect() as agent:
        found = await agent.compare_tree(str(package))
    assert (found.basis, found.version, found.files, found.reason) == ("record", "9.0.1", [], "")
    assert found.checked == len(installed.sources("9.0.1"))
    assert found.source is not None
    assert found.source.endswith("sglang-9.0.1.dist-info/RECORD")


async def test_every_kind_of_difference_is_told_with_its_hashes(connect, package):
    big = package / installed.BIG
    before = hashlib.sha256(big.read_bytes()).hexdigest()
    big.write_bytes(big.read_bytes() + b"# by hand\n")
    (package / LLAMA).unlink()
    (package / "srt" / "mine.py").write_text("x = 1\n")
    (package / "srt" / "notes.txt").write_text("no source\n")
    (package / "srt" / "__pycache__").mkdir(exist_ok=True)
    (package / "srt" / "__pycache__" / "odd.py").write_text("")
    async with connect() as agent:
        found = await agent.compare_tree(str(package))
    assert told(found) == [("modified", installed.BIG), ("missing", LLAMA), ("extra", "srt/mine.py")]
    modified, missing, extra = found.files
    assert modified.recorded == before
    assert modified.now == hashlib.sha256(big.read_bytes()).hexdigest()
    assert modified.size == big.stat().st_size > 600_000
    assert (missing.recorded is None, missing.now) == (False, None)
    assert (extra.recorded, extra.now) == (None, hashlib.sha256(b"x = 1\n").hexdigest())


async def test_no_path_of_a_hostile_record_is_opened(connect, package, tmp_path):
    secret = tmp_path / "secret.py"
    secret.write_text("token = 1\n")
    os.mkfifo(package / "srt" / "pipe.py")
    (package / "srt" / "link.py").symlink_to(secret)
    (package / "srt" / "folder").symlink_to(tmp_path)
    (record,) = package.parent.glob("sglang-*.dist-info/RECORD")
    names = ["../secret.py", "/etc/passwd.py", "srt/link.py", "srt/folder/secret.py", "srt/pipe.py", "srt/../x.py"]
    record.write_text(record.read_text() + "".join(f"sglang/{name},sha256=AAAA,1\n" for name in names))
    async with connect() as agent:
        found = await agent.compare_tree(str(package))
    by_path = {file.path: file for file in found.files}
    assert set(by_path) == set(names), "a bad hash beside a path is no reason to read it"
    assert all(file.now is None and file.size == 0 for file in found.files)
    assert by_path["srt/link.py"].state == by_path["srt/folder/secret.py"].state == "unread"
    assert by_path["../secret.py"].state == "missing"


async def test_a_record_that_is_none_is_said(connect, package):
    (record,) = package.parent.glob("sglang-*.dist-info/RECORD")
    record.write_bytes(b'sglang/a.py,"' + b"x" * 200_000)
    async with connect() as agent:
        found = await agent.compare_tree(str(package))
    assert found.basis == "none"
    assert "RECORD: " in found.reason


async def test_a_second_distribution_of_the_tree_is_said_and_the_newest_meant(connect, package):
    (info,) = package.parent.glob("sglang-*.dist-info")
    old = shutil.copytree(info, info.with_name("sglang-8.0.dist-info"))
    os.utime(old, (1, 1))
    async with connect() as agent:
        found = await agent.compare_tree(str(package))
    assert found.version == "9.0.1"
    assert "several distributions list this tree (sglang-8.0.dist-info, sglang-9.0.1.dist-info)" in found.reason


async def test_many_differences_are_counted_not_sent(connect, package):
    for number in range(450):
        (package / f"extra_{number}.py").write_text("")
    async with connect() as agent:
        found = await agent.compare_tree(str(package))
    assert (len(found.files), found.left_off) == (400, 50)


async def test_a_checkout_tells_commit_branch_and_what_is_dirty(connect, tmp_path):
    package = installed.checkout(tmp_path / "sglang")
    async with connect() as agent:
        clean = await agent.compare_tree(str(package))
        (package / LLAMA).write_text("edited\n")
        (package / "srt" / "new file.py").write_text("")
        (package / "version.py").unlink()
        (tmp_path / "sglang" / "elsewhere.py").write_text("not in the package")
        dirty = await agent.compare_tree(str(package))
        committed = await agent.committed(str(package), LLAMA)
    assert (clean.basis, clean.branch, clean.files) == ("git", "main", [])
    assert clean.commit == installed.git(tmp_path / "sglang", "rev-parse", "HEAD")
    assert told(dirty) == [("modified", LLAMA), ("missing", "version.py"), ("extra", "srt/new file.py")]
    assert committed == (installed.STANDIN / LLAMA).read_bytes()


async def test_staged_changes_and_renames_are_dirty_too(connect, tmp_path):
    package = installed.checkout(tmp_path / "sglang")
    installed.git(tmp_path / "sglang", "mv", f"python/sglang/{LLAMA}", "python/sglang/srt/models/lama.py")
    (package / "srt" / "staged.py").write_text("")
    installed.git(tmp_path / "sglang", "add", "-A")
    async with connect() as agent:
        found = await agent.compare_tree(str(package))
    assert told(found) == [("missing", LLAMA), ("extra", "srt/models/lama.py"), ("extra", "srt/staged.py")]


async def test_a_detached_head_has_no_branch(connect, tmp_path):
    package = installed.checkout(tmp_path / "sglang")
    installed.git(tmp_path / "sglang", "checkout", "--quiet", "--detach")
    async with connect() as agent:
        found = await agent.compare_tree(str(package))
    assert (found.basis, found.branch, len(found.commit or "")) == ("git", "", 40)


async def test_git_runs_nothing_that_the_repository_names(connect, tmp_path):
    package = installed.checkout(tmp_path / "sglang")
    script = tmp_path / "ran.sh"
    script.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    script.chmod(0o755)
    installed.git(tmp_path / "sglang", "config", "core.fsmonitor", str(script))
    installed.git(tmp_path / "sglang", "config", "core.hooksPath", str(tmp_path))
    index = tmp_path / "sglang" / ".git" / "index"
    (package / LLAMA).write_text("edited\n")
    before = index.read_bytes()
    async with connect() as agent:
        assert told(await agent.compare_tree(str(package))) == [("modified", LLAMA)]
    assert not (tmp_path / "ran").exists()
    assert index.read_bytes() == before


async def test_a_venv_inside_somebodys_checkout_is_none_of_its_files(connect, package, tmp_path, python):
    installed.git(tmp_path, "init", "--quiet")
    (tmp_path / "app.py").write_text("")
    installed.git(tmp_path, "add", "app.py")
    installed.git(tmp_path, "commit", "--quiet", "-m", "one")
    async with connect() as agent:
        found = await agent.compare_tree(str(package))
        facts = await agent.sglang(str(tmp_path / "venv" / "bin" / "python"), {})
        shutil.rmtree(next(package.parent.glob("sglang-*.dist-info")))
        bare = await agent.compare_tree(str(package))
    assert found.basis == "record"
    assert facts.root == str(package)
    assert (facts.git_head, facts.git_dirty) == (None, None)
    assert (bare.basis, bare.reason) == ("none", "no RECORD lists this tree, and no git checkout has it committed")


async def test_without_git_a_checkout_is_not_compared_and_that_is_said(connect, tmp_path, monkeypatch, python):
    package = installed.checkout(tmp_path / "sglang")
    (tmp_path / "bin").mkdir()
    for name in ("sh", "mkdir", "mktemp", "cat", "mv", "rm", "chmod", "id", "uname"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name) or "")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    async with connect() as agent:
        found = await agent.compare_tree(str(package))
    assert found.basis == "none"
    assert "git cannot be run" in found.reason


@pytest.mark.parametrize("path", ["../outside.py", "/etc/passwd", "srt//x.py", "", "-p", "none.py"])
async def test_only_committed_files_of_the_package_are_given(connect, tmp_path, path):
    package = installed.checkout(tmp_path / "sglang")
    async with connect() as agent:
        with pytest.raises((NodeUsage, NodeError)):
            await agent.committed(str(package), path)


async def test_an_original_that_is_not_kept_is_not_found(connect):
    async with connect() as agent:
        with pytest.raises(NodeError):
            await agent.kept("0" * 64)
        with pytest.raises((NodeUsage, NodeRefused)):
            await agent.kept("../../etc/passwd")
