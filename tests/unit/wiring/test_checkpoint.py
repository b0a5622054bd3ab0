"""Facts read out of configs."""

from __future__ import annotations

import pytest

from console.wiring.checkpoint import WiringFacts, facts_from_configs

TARGET = {"architectures": ["DeepseekV3ForCausalLM"], "hidden_size": 7168, "num_hidden_layers": 61}
DRAFT = {"architectures": ["LlamaForCausalLMEagle3"], "hidden_size": 7168}
IDS = "eagle_aux_hidden_state_layer_ids"


def test_a_plain_pair() -> None:
    draft = DRAFT | {"eagle_config": {IDS: [2, 30, 58], "use_aux_hidden_state": True}}
    facts = facts_from_configs(TARGET, draft)
    assert facts == WiringFacts(
        hidden_size=7168,
        captures_expected=3,
        draft_hidden_size=7168,
        draft_target_hidden_size=7168,
        target_architecture="DeepseekV3ForCausalLM",
        draft_architecture="LlamaForCausalLMEagle3",
        target_layers=61,
        layer_ids=(2, 30, 58),
    )
    assert facts.fc_in_width == 21504


def test_a_multimodal_target_has_its_sizes_in_text_config() -> None:
    text = {"hidden_size": 7168, "num_hidden_layers": 61}
    facts = facts_from_configs({"architectures": ["KimiK25ForConditionalGeneration"], "text_config": text})
    assert (facts.hidden_size, facts.target_layers) == (7168, 61)
    assert facts.target_architecture == "KimiK25ForConditionalGeneration"
    assert (facts.captures_expected, facts.fc_in_width) == (None, None)


def test_the_draft_s_target_hidden_size_stands_in_where_the_target_says_none() -> None:
    draft = {"hidden_size": 6144, "target_hidden_size": 8192}
    assert facts_from_configs({}, draft).fc_in_width == 24576
    assert facts_from_configs({"hidden_size": 4096}, draft).hidden_size == 4096
    assert facts_from_configs({"hidden_size": 4096}, draft).draft_target_hidden_size == 8192
    assert facts_from_configs({}, {"hidden_size": 6144}).hidden_size == 6144


@pytest.mark.parametrize(
    ("extra", "captures"),
    [
        ({}, 3),
        ({"eagle_config": {IDS: [1, 2, 3, 4]}}, 4),
        ({"eagle_config": {IDS: [1, 2, 3, 4]}, "num_aux_hidden_states": 5}, 5),
        ({"eagle_config": {IDS: []}}, 3),
        ({IDS: [1, 2, 3, 4]}, 3),
    ],
)
def test_captures_are_counted_as_sglang_counts_them(extra: dict[str, object], captures: int) -> None:
    assert facts_from_configs(TARGET, DRAFT | extra).captures_expected == captures


def test_ids_at_the_top_level_are_ignored_and_told() -> None:
    facts = facts_from_configs(TARGET, DRAFT | {IDS: [2, 30, 58]})
    assert (facts.layer_ids, facts.ignored_layer_ids) == (None, (2, 30, 58))


@pytest.mark.parametrize("odd", [None, "7168", -1, 0, True, 7168.0, [7168], {"a": 1}])
def test_values_of_another_type_count_as_absent(odd: object) -> None:
    facts = facts_from_configs(
        {"hidden_size": odd, "text_config": odd, "architectures": odd},
        {"hidden_size": odd, "eagle_config": odd, "num_aux_hidden_states": odd, IDS: [odd], "architectures": [odd]},
    )
    assert facts.hidden_size is None
    assert facts.captures_expected == 3
    assert facts.target_architecture is None
    assert facts.draft_architecture == (odd if isinstance(odd, str) else None)
