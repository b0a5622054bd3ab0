"""Several patches in one file: one change from the disk's text to the last, and every patch is found in it again."""

from __future__ import annotations

import hashlib
from itertools import permutations
from pathlib import Path

import pytest

from console.patches import chain, library
from console.patches.plan import plan, strip, wanted_paths

TREE = Path(__file__).parents[3] / "console" / "demo" / "standin" / "sglang"
IDS = ("eagle3-digest", "eagle3-shapes")


def wanted(ids):
    return [
        (
            library.patches()[each],
            wanted_paths(library.patches()[each], ["DeepseekV3ForCausalLM"], ["LlamaForCausalLMEagle3"]),
        )
        for each in ids
    ]


@pytest.mark.parametrize("ids", list(permutations(IDS)))
def test_patches_are_planned_on_each_other_and_come_out_as_one_change_a_file(ids):
    chosen = wanted(ids)
    files = {path: _read(path) for _patch, paths in chosen for path in paths}
    plans = chain.plan_all(chosen, files)
    assert {each.state for each in plans} == {"appliable"}
    changes = {each.path: each for each in chain.changes(plans)}
    model = changes["srt/models/deepseek_v2.py"]
    assert model.sha256_before == hashlib.sha256(files[model.path] or b"").hexdigest()
    after = {**files, **{path: each.new_text for path, each in changes.items()}}
    for patch, paths in chosen:
        assert plan(patch, {path: after[path] for path in paths}).state == "applied"
    bare = model.new_text or b""
    for patch, _paths in chosen:
        bare = strip(patch, bare)
    assert bare == files[model.path]


def _read(path: str) -> bytes | None:
    file = TREE / path
    return file.read_bytes() if file.exists() else None
