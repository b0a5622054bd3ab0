"""`eagle3-shapes` on released SGLang: every anchor holds, every new text compiles, every old byte comes back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from console.patches import library
from console.patches.plan import plan, strip, wanted_paths

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Tree = Callable[[str, tuple[str, ...]], Mapping[str, bytes | None]]

pytestmark = [pytest.mark.wheels, pytest.mark.timeout(300)]

PATCH = library.patches()["eagle3-shapes"]
VERSIONS = ["0.5.12.post1", "0.5.20"]
if os.environ.get("SPEC_CONSOLE_FULL") == "1":
    VERSIONS = ["0.5.5", "0.5.9", *VERSIONS, "0.5.16", "0.5.23"]
TARGETS = ["DeepseekV3ForCausalLM", "LlamaForCausalLM"]
PATHS = wanted_paths(PATCH, TARGETS, ["LlamaForCausalLMEagle3"])
OLDEST = "0.4.6.post1"

every_version = pytest.mark.parametrize("version", VERSIONS)


def without_lines(sites: tuple[str, ...]) -> list[str]:
    return [site.rsplit(":", 1)[0] for site in sites]


@every_version
def test_every_file_takes_the_patch(tree: Tree, version: str) -> None:
    result = plan(PATCH, tree(version, PATHS))
    assert {one.path: one.state for one in result.files} == dict.fromkeys(PATHS, "appliable")
    for one in result.changes:
        compile(one.new_text or b"", one.path, "exec", dont_inherit=True)


@every_version
def test_the_places_are_those_of_the_anchors(tree: Tree, version: str) -> None:
    sites = {one.path.rsplit("/", 1)[1]: without_lines(one.sites) for one in plan(PATCH, tree(version, PATHS)).files}
    assert sites["deepseek_v2.py"] == ["target.aux DeepseekV2ForCausalLM.forward"]
    assert sites["llama.py"] == ["target.aux LlamaForCausalLM.forward"]
    assert sites["llama_eagle3.py"] == ["draft.fc_in LlamaModel.forward", "draft.fc_out LlamaModel.forward"]
    assert [site.split(".")[:2] for site in sites["logits_processor.py"]] == [
        ["logits", "cat_in LogitsProcessor"],
        ["logits", "stored LogitsProcessor"],
    ]


@every_version
def test_applied_is_seen_as_applied_and_strips_to_the_original(tree: Tree, version: str) -> None:
    files = tree(version, PATHS)
    after = {one.path: one.new_text or b"" for one in plan(PATCH, files).changes}
    again = plan(PATCH, after)
    assert {one.state for one in again.files} == {"applied"}
    assert {path: strip(PATCH, text) for path, text in after.items() if files[path]} == {
        path: text for path, text in files.items() if text
    }


@every_version
def test_no_file_of_any_model_is_a_conflict(tree: Tree, version: str) -> None:
    paths = wanted_paths(PATCH, all_models=True)
    result = plan(PATCH, tree(version, paths))
    assert [(one.path, one.why) for one in result.blockers] == []
    assert len(result.changes) > 10


def test_the_mla_draft_takes_it_too(tree: Tree) -> None:
    paths = wanted_paths(PATCH, ["KimiK25ForConditionalGeneration"], ["Eagle3DeepseekV2ForCausalLM"])
    result = plan(PATCH, tree("0.5.12.post1", paths))
    draft = next(one for one in result.changes if one.path.endswith("kimi_k25_eagle3.py"))
    assert without_lines(draft.sites) == ["draft.fc_in Eagle3MLAModel.forward", "draft.fc_out Eagle3MLAModel.forward"]


def test_a_release_without_eagle3_for_the_model_says_so(tree: Tree) -> None:
    states = {one.path: one for one in plan(PATCH, tree(OLDEST, PATHS)).files}
    deepseek = states.pop("srt/models/deepseek_v2.py")
    assert deepseek.state == "not-applicable"
    assert "no EAGLE-3" in deepseek.why
    assert {one.state for one in states.values()} == {"appliable"}
