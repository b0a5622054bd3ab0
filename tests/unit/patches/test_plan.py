"""What a plan says of each file: applied, appliable, drifted, conflict or not applicable, and why."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from console.errors import UsageError
from console.patches import library
from console.patches.plan import FilePlan, PatchPlan, plan, strip, wanted_paths

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PATCH = library.patches()["eagle3-shapes"]
HELPER = PATCH.helper.path
LOGITS = "srt/layers/logits_processor.py"
TARGET = "srt/models/deepseek_v2.py"
DRAFT = "srt/models/llama_eagle3.py"

FILES = {
    LOGITS: b"""\
class LogitsProcessor:
    def _store(self, aux_hidden_states, aux_pruned_states, logits_metadata):
        hidden_states_to_store = None
        if logits_metadata.capture_hidden_mode.need_capture():
            hidden_states_to_store = cat(aux_hidden_states)
        return hidden_states_to_store
""",
    TARGET: b"""\
class DeepseekV2ForCausalLM:
    def forward(self, input_ids, positions, forward_batch):
        hidden_states = self.model(input_ids, positions, forward_batch)
        aux_hidden_states = None
        if self.capture_aux_hidden_states:
            hidden_states, aux_hidden_states = hidden_states
        return self.logits_processor(hidden_states, aux_hidden_states)
""",
    DRAFT: b"""\
class LlamaModel:
    def forward(self, embeds, forward_batch):
        hidden_states = forward_batch.spec_info.hidden_states
        if hidden_states.shape[-1] != embeds.shape[-1]:
            hidden_states = self.fc(hidden_states)
        return hidden_states
""",
}


def of(files: Mapping[str, bytes | None], path: str) -> FilePlan:
    return next(one for one in plan(PATCH, files).files if one.path == path)


def applied(files: dict[str, bytes]) -> dict[str, bytes]:
    return {**files, **{one.path: one.new_text or b"" for one in plan(PATCH, files).changes}}


def states(result: PatchPlan) -> dict[str, str]:
    return {one.path: one.state for one in result.files}


def test_an_untouched_tree_is_appliable_and_the_runtime_file_goes_first() -> None:
    result = plan(PATCH, FILES)
    assert result.state == "appliable"
    assert [one.path for one in result.changes] == [HELPER, LOGITS, TARGET, DRAFT]
    assert not result.blockers


def test_hashes_are_those_of_the_texts() -> None:
    for one in plan(PATCH, FILES).changes:
        assert one.new_text is not None
        assert one.sha256_after == hashlib.sha256(one.new_text).hexdigest()
        old = FILES.get(one.path)
        assert one.sha256_before == (None if old is None else hashlib.sha256(old).hexdigest())


def test_the_diff_only_adds_lines() -> None:
    for one in plan(PATCH, FILES).changes:
        changed = [line for line in one.diff.splitlines()[2:] if line[:1] in "+-"]
        assert changed
        assert all(line.startswith("+") for line in changed)
        assert one.diff.startswith("--- /dev/null" if one.path == HELPER else f"--- a/sglang/{one.path}")


def test_sites_name_the_place_in_the_file() -> None:
    assert of(FILES, DRAFT).sites == ("draft.fc_in LlamaModel.forward:3", "draft.fc_out LlamaModel.forward:4")
    assert of(FILES, LOGITS).sites == (
        "logits.cat_in LogitsProcessor._store:4",
        "logits.stored LogitsProcessor._store:4",
    )


def test_lines_stand_before_and_after_as_the_anchors_say() -> None:
    text = (of(FILES, LOGITS).new_text or b"").decode().splitlines()
    assert [i for i, line in enumerate(text) if "logits." in line and "_spec_console" in line] == [3, 6]
    assert "aux_pruned_states if logits_metadata.capture_hidden_mode.is_last()" in text[3]


def test_applied_twice_is_applied_once() -> None:
    result = plan(PATCH, applied(FILES))
    assert set(states(result).values()) == {"applied"}
    assert result.state == "applied"
    assert not result.changes
    assert all(one.sha256_before == one.sha256_after for one in result.files)


def test_strip_gives_the_original_back() -> None:
    after = applied(FILES)
    assert {path: strip(PATCH, after[path]) for path in FILES} == FILES


def test_a_half_applied_tree_says_what_is_left() -> None:
    files = {**applied(FILES), TARGET: FILES[TARGET]}
    result = plan(PATCH, files)
    assert result.state == "appliable"
    assert [one.path for one in result.changes] == [TARGET]


def test_a_lost_runtime_file_is_put_back() -> None:
    after = applied(FILES)
    del after[HELPER]
    assert [one.path for one in plan(PATCH, after).changes] == [HELPER]


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: text.replace(b'"target.aux"', b'"target.auxiliary"'),
        lambda text: text.replace(b'"EAGLE3_DEBUG"', b'"OTHER"'),
        lambda text: text.replace(PATCH.mark.encode(), b""),
        lambda text: text.replace(b"        import os as", b"        # import os as"),
        lambda text: text.replace(
            b"        return", b"        import os as _spec_console; 1" + PATCH.mark.encode() + b"\n        return"
        ),
    ],
)
def test_edited_lines_of_ours_are_drift(edit: Callable[[bytes], bytes]) -> None:
    text = edit(applied(FILES)[TARGET])
    one = of({TARGET: text}, TARGET)
    assert one.state == "drifted"
    assert one.new_text is None
    assert "revert" in one.why
    assert one.diff


def test_lines_of_ours_in_a_file_that_changed_around_them_are_drift() -> None:
    text = applied(FILES)[TARGET].replace(b"if self.capture_aux_hidden_states:", b"if capture_aux_hidden_states:")
    one = of({TARGET: text}, TARGET)
    assert one.state == "drifted"
    assert "A1" in one.why


def test_a_change_elsewhere_in_an_applied_file_is_no_drift() -> None:
    text = applied(FILES)[TARGET].replace(b"return ", b"x = 1\n        return ")
    assert of({TARGET: text}, TARGET).state == "applied"


def test_a_renamed_statement_is_a_conflict_with_its_place() -> None:
    one = of({TARGET: FILES[TARGET].replace(b"if self.cap", b"if not self.cap")}, TARGET)
    assert one.state == "conflict"
    assert "A1" in one.why
    assert "DeepseekV2ForCausalLM.forward:5" in one.why
    assert one.new_text is None


def test_a_name_that_may_have_no_value_is_a_conflict() -> None:
    one = of({TARGET: FILES[TARGET].replace(b"        aux_hidden_states = None\n", b"")}, TARGET)
    assert one.state == "conflict"
    assert "aux_hidden_states may have no value after DeepseekV2ForCausalLM.forward:4" in one.why


def test_a_model_without_eagle3_is_not_applicable() -> None:
    one = of({TARGET: b"class DeepseekV2ForCausalLM:\n    def forward(self): pass\n"}, TARGET)
    assert one.state == "not-applicable"
    assert "no EAGLE-3" in one.why


def test_a_file_that_the_tree_lacks_is_not_applicable() -> None:
    one = of({TARGET: None}, TARGET)
    assert (one.state, one.sha256_before) == ("not-applicable", None)


def test_where_nothing_applies_no_runtime_file_is_wanted() -> None:
    result = plan(PATCH, {TARGET: None, LOGITS: None})
    assert set(states(result).values()) == {"not-applicable"}
    assert result.state == "not-applicable"


def test_a_text_that_is_not_python_is_a_conflict_with_its_line() -> None:
    one = of({TARGET: b"class A:\n  def f(:\n"}, TARGET)
    assert one.state == "conflict"
    assert "line 2" in one.why


def test_an_older_runtime_file_of_ours_is_drift_and_a_strangers_a_conflict() -> None:
    assert of({**FILES, HELPER: PATCH.helper.heading + b"\n# older\n"}, HELPER).state == "drifted"
    result = plan(PATCH, {**FILES, HELPER: b"print('mine')\n"})
    assert result.state == "conflict"
    assert [one.path for one in result.blockers] == [HELPER]


def test_one_bad_place_leaves_the_whole_file_alone() -> None:
    one = of({DRAFT: FILES[DRAFT].replace(b"!= embeds", b"> embeds")}, DRAFT)
    assert (one.state, one.new_text) == ("conflict", None)


def test_other_bytes_of_the_file_do_not_matter_to_the_plan() -> None:
    files = {path: text.replace(b"\n", b"\r\n").replace(b"    ", b"\t") for path, text in FILES.items()}
    after = applied(files)
    assert plan(PATCH, after).state == "applied"
    assert {path: strip(PATCH, after[path]) for path in files} == files


@pytest.mark.parametrize(
    ("target", "draft", "models"),
    [
        ("DeepseekV3ForCausalLM", "LlamaForCausalLMEagle3", {"deepseek_v2", "llama_eagle3"}),
        ("KimiK25ForConditionalGeneration", "Eagle3DeepseekV2ForCausalLM", {"deepseek_v2", "kimi_k25_eagle3"}),
        ("LlamaForCausalLM", "LlamaForCausalLMEagle3", {"llama", "llama_eagle3"}),
        ("Qwen3MoeForCausalLM", "LlamaForCausalLMEagle3", {"qwen3_moe", "llama_eagle3"}),
        ("GptOssForCausalLM", "LlamaForCausalLMEagle3", {"gpt_oss", "llama_eagle3"}),
    ],
)
def test_files_follow_the_architectures(target: str, draft: str, models: set[str]) -> None:
    paths = wanted_paths(PATCH, [target], [draft])
    assert set(paths) == {HELPER, LOGITS, *(f"srt/models/{name}.py" for name in models)}
    assert paths[0] == HELPER


def test_a_target_alone_needs_no_draft() -> None:
    assert wanted_paths(PATCH, ["LlamaForCausalLM"]) == (HELPER, LOGITS, "srt/models/llama.py")


def test_all_models_is_every_file() -> None:
    assert wanted_paths(PATCH, all_models=True) == (HELPER, *(edit.path for edit in PATCH.edits))


@pytest.mark.parametrize(("target", "draft"), [(["NewForCausalLM"], []), ([], ["LlamaForCausalLM"])])
def test_an_architecture_without_a_known_file_is_refused_by_name(target: list[str], draft: list[str]) -> None:
    with pytest.raises(UsageError, match=(target + draft)[0]) as caught:
        wanted_paths(PATCH, target, draft)
    assert "--all-models" in caught.value.hint


def test_a_newer_runtime_makes_applied_files_stay_applied() -> None:
    after = applied(FILES)
    newer = replace(PATCH, helper=replace(PATCH.helper, text=PATCH.helper.text + b"# newer\n"))
    assert states(plan(newer, after)) == {HELPER: "drifted", LOGITS: "applied", TARGET: "applied", DRAFT: "applied"}


DIGEST = library.patches()["eagle3-digest"]
CYCLE = library.patches()["eagle3-cycle"]
WORKER = "srt/speculative/eagle_worker_v2.py"
WORKER_TEXT = b"""\
class EagleDraftWorker:
    def draft(self, batch): pass
    def _draft_extend_for_decode(self, batch): pass
class EAGLEWorkerV2:
    @torch.no_grad()
    def forward_batch_generation(self, batch): pass
    def verify(self, batch):
        return run_eagle_verify(batch)
"""


def test_patches_share_a_file_whoever_came_first() -> None:
    def both(*patches: library.Patch) -> Mapping[str, bytes | None]:
        files: dict[str, bytes | None] = {**FILES}
        for one in patches:
            files |= {each.path: each.new_text for each in plan(one, files).changes}
        return files

    files = both(PATCH, DIGEST)
    assert files == both(DIGEST, PATCH)
    assert plan(PATCH, files).state == plan(DIGEST, files).state == "applied"
    assert strip(DIGEST, files[TARGET] or b"") == applied(FILES)[TARGET]


def test_a_patch_of_no_model_file_is_wanted_for_any_model() -> None:
    assert WORKER in wanted_paths(CYCLE, ["NewForCausalLM"], ["NewDraft"])


def test_a_release_whose_verify_runs_elsewhere_takes_what_it_has() -> None:
    one = next(each for each in plan(CYCLE, {WORKER: WORKER_TEXT}).files if each.path == WORKER)
    assert one.state == "appliable"
    assert one.sites == (
        "cycle.draft EagleDraftWorker.draft:2",
        "cycle.extend EagleDraftWorker._draft_extend_for_decode:3",
        "cycle.cycle EAGLEWorkerV2.forward_batch_generation:6",
        "cycle.verify EAGLEWorkerV2.verify:7",
    )
    assert strip(CYCLE, one.new_text or b"") == WORKER_TEXT


def test_a_near_miss_of_what_may_be_missing_is_still_a_conflict() -> None:
    text = WORKER_TEXT + b"        self.target_worker.forward_batch_generation(batch)\n"
    one = next(each for each in plan(CYCLE, {WORKER: text}).files if each.path == WORKER)
    assert one.state == "conflict"
    assert "A4" in one.why


def test_a_missing_stage_leaves_the_file_alone() -> None:
    text = WORKER_TEXT.replace(b"def draft", b"def propose")
    one = next(each for each in plan(CYCLE, {WORKER: text}).files if each.path == WORKER)
    assert (one.state, one.new_text) == ("not-applicable", None)
    assert "this worker runs no EAGLE cycle (draft is not in any method() here)" in one.why
