"""A checkpoint's config.json, asked of the real agent over pipes: swapped only as planned, taken back to the byte."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

from console.remote.agent import NodeRefused, NodeUsage
from remote_agent.protocol import FileChange

if TYPE_CHECKING:
    from pathlib import Path

    from console.remote.agent import Agent

OLD, NEW = b'\xef\xbb\xbf{"ids": [2, 30, 58]}\r\n', b'\xef\xbb\xbf{"ids": [3, 31, 59]}\r\n'


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _draft(tmp_path: Path) -> Path:
    folder = tmp_path / "drafts" / "4"
    folder.mkdir(parents=True)
    (folder / "config.json").write_bytes(OLD)
    (folder / "config.json").chmod(0o640)
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


async def _apply(agent: Agent, folder: Path, path: str = "config.json", before: bytes | None = OLD) -> None:
    await agent.put(_sha256(NEW), NEW)
    change = FileChange(path, None if before is None else _sha256(before), _sha256(NEW), 0o640)
    await agent.apply_files(str(folder), ["draft-layers"], [change])


async def test_it_is_swapped_and_taken_back_to_the_byte(connect, tmp_path):
    folder = _draft(tmp_path)
    file = folder / "config.json"
    async with connect() as agent:
        await _apply(agent, folder)
        assert file.read_bytes() == NEW
        assert file.stat().st_mode & 0o777 == 0o640
        (entry,) = await agent.ledger("")
        assert (entry.root, entry.patches, entry.state) == (str(folder), ["draft-layers"], "applied")
        (outcome,) = await agent.restore_files(str(folder))
        assert (outcome.path, outcome.outcome) == ("config.json", "restored")
        assert await agent.ledger("") == []
    assert file.read_bytes() == OLD
    assert file.stat().st_mode & 0o777 == 0o640
    assert sorted(each.name for each in folder.iterdir()) == ["config.json", "model.safetensors"]
    assert sorted(each.name for each in folder.parent.iterdir()) == ["4"]


async def test_a_config_that_is_not_the_planned_one_is_left(connect, tmp_path):
    folder = _draft(tmp_path)
    (folder / "config.json").write_bytes(b"{}")
    async with connect() as agent:
        with pytest.raises(NodeRefused, match="not the file that was planned"):
            await _apply(agent, folder)
        assert await agent.ledger("") == []
    assert (folder / "config.json").read_bytes() == b"{}"


async def test_a_link_into_a_cache_is_left(connect, tmp_path):
    folder = _draft(tmp_path)
    blob = tmp_path / "blob"
    (folder / "config.json").rename(blob)
    (folder / "config.json").symlink_to(blob)
    async with connect() as agent:
        (facts,) = await agent.paths([f"{folder}/config.json"])
        assert facts.real_path == str(blob)
        with pytest.raises(NodeRefused, match="or is a link"):
            await _apply(agent, folder)
    assert blob.read_bytes() == OLD
    assert (folder / "config.json").is_symlink()


@pytest.mark.parametrize("path", ["model.safetensors", "new.py", "../x", "sub/config.json"])
async def test_nothing_else_of_a_checkpoint_is_changed(connect, tmp_path, path):
    folder = _draft(tmp_path)
    async with connect() as agent:
        with pytest.raises(NodeRefused, match=r"only config\.json may be changed|leads out of the tree"):
            await _apply(agent, folder, path, b"weights" if path.endswith("safetensors") else None)
    assert (folder / "model.safetensors").read_bytes() == b"weights"
    assert not (folder / "new.py").exists()


async def test_a_folder_that_is_neither_tree_nor_checkpoint_is_refused(connect, tmp_path):
    async with connect() as agent:
        for root in (tmp_path, "relative"):
            with pytest.raises(NodeUsage, match="nor of a checkpoint"):
                await agent.restore_files(str(root))


async def test_a_linked_folder_is_one_with_its_real_one(connect, tmp_path):
    folder = _draft(tmp_path)
    (tmp_path / "current").symlink_to(folder)
    async with connect() as agent:
        await _apply(agent, tmp_path / "current")
        (entry,) = await agent.ledger(str(folder))
        await agent.restore_files(str(tmp_path / "current"))
        assert entry.root == str(folder)
    assert (folder / "config.json").read_bytes() == OLD
