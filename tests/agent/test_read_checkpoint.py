"""A checkpoint read over the real agent is the one that is read from the disk, and hostile files do no harm."""

from __future__ import annotations

import json
import os
import struct

import pytest

from console.actions import read_checkpoint
from console.wiring import reading
from tests import drafts


@pytest.mark.parametrize("name", ["lightseekorg-kimi-k2.5-eagle3", "yuhuili-eagle3-llama3.3-70b"])
async def test_a_node_tells_what_the_disk_tells(connect, tmp_path, name):
    drafts.load(name).write(tmp_path)
    async with connect() as agent:
        for how, folder in ((reading.draft, "draft"), (reading.target, "target")):
            path = str(tmp_path / folder)
            found = await read_checkpoint.from_node(agent, how(path))
            assert found == read_checkpoint.from_files(how(path))
            assert found.config
            assert found.problem == ""


async def test_a_header_longer_than_one_part(connect, tmp_path):
    many = drafts.load("lightseekorg-kimi-k2.5-eagle3")
    experts = {f"midlayer__mlp__experts__{i}__gate_proj__weight": ("BF16", [8, 8]) for i in range(3000)}
    many.with_tensors(**experts).write(tmp_path)
    assert len(drafts.header(many.with_tensors(**experts).tensors)) > 192 << 10
    async with connect() as agent:
        found = await read_checkpoint.from_node(agent, reading.draft(str(tmp_path / "draft")))
    assert found.tensors is not None
    assert len(found.tensors) > 3000
    assert len(found.values["d2t"]) == 32000


async def test_a_folder_that_is_not_there(connect, tmp_path):
    async with connect() as agent:
        found = await read_checkpoint.from_node(agent, reading.draft(str(tmp_path / "gone")))
    assert "no config.json" in found.problem


def test_a_pipe_and_a_lying_length_do_not_hold_us_up(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"hidden_size": 8}))
    os.mkfifo(tmp_path / "model.safetensors")
    assert "not a file" in read_checkpoint.from_files(reading.draft(str(tmp_path))).problem
    (tmp_path / "model.safetensors").unlink()
    (tmp_path / "model.safetensors").write_bytes(struct.pack("<Q", 1 << 63) + b"{}")
    assert "the header says" in read_checkpoint.from_files(reading.draft(str(tmp_path))).problem


def test_links_of_a_hub_cache_are_followed(tmp_path):
    drafts.load("specforge-llama3-8b").write(tmp_path / "blobs")
    cache = tmp_path / "hub" / "models--specforge--llama3" / "snapshots" / "abc"
    cache.mkdir(parents=True)
    for name in ("config.json", "model.safetensors"):
        (cache / name).symlink_to(tmp_path / "blobs" / "draft" / name)
    (cache.parents[1] / "refs").mkdir()
    (cache.parents[1] / "refs" / "main").write_text("abc")
    folder = read_checkpoint.folder_of("specforge/llama3", "/home/x", {"HF_HUB_CACHE": str(tmp_path / "hub")})
    found = read_checkpoint.from_files(reading.draft(folder))
    assert found.problem == ""
    assert found.tensors is not None
    assert read_checkpoint.folder_of("/models/a", "/home/x", {}) == "/models/a"
    assert read_checkpoint.folder_of("a/b", "/h", {}) == "/h/.cache/huggingface/hub/models--a--b"
