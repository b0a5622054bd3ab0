"""From a profile's `probe:` to a workload, its identity and its order."""

from __future__ import annotations

import dataclasses

import pytest

from console.errors import UsageError
from console.launch.profile import ProbeSpec
from console.probe.prompts import load_prompt_set, prompt_set_names
from console.probe.workload import KEYS, Workload, workload_from_profile
from remote_agent.protocol.probe.spec import parse_spec


def test_a_profile_that_passes_its_schema_is_a_workload():
    assert set(ProbeSpec.model_fields) == set(KEYS)
    given = ProbeSpec(prompt=[5, 17, 300], requests_per_block=4, concurrency=4, timeout_s=60.0).given()
    workload = workload_from_profile(given)
    assert (workload.requests_per_block, workload.concurrency, workload.timeout_s) == (4, 4, 60.0)


def test_what_a_profile_leaves_out_has_defaults():
    workload = workload_from_profile(ProbeSpec().given())
    assert workload == Workload("chat", load_prompt_set("chat"))
    assert workload_from_profile({"concurrency": 8}).requests_per_block == 8, "or the concurrency is never reached"


def test_token_ids_stand_as_one_prompt():
    workload = workload_from_profile({"prompt": [5, 17, 300], "max_new_tokens": 400})
    assert workload.input_ids == ((5, 17, 300),)
    spec = workload.to_spec(8000)
    assert spec["input_ids"] == [[5, 17, 300]]
    assert "text" not in spec
    assert spec["host"] == "127.0.0.1"


def test_a_shipped_set_is_read_by_name():
    workload = workload_from_profile({"prompt": "code"})
    assert workload.prompt_name == "code"
    assert workload.texts == load_prompt_set("code")


def test_a_text_of_its_own_is_the_prompt():
    workload = workload_from_profile({"prompt": "Tell me a story."})
    assert (workload.prompt_name, workload.texts) == ("text", ("Tell me a story.",))


@pytest.mark.parametrize(
    ("probe", "said"),
    [
        ({"block": 3}, "probe.block"),
        ({"prompt": "coed"}, "coed"),
        ({"prompt": []}, "token ids"),
        ({"prompt": [1, -2]}, "token ids"),
        ({"prompt": [1, True]}, "token ids"),
        ({"prompt": "  "}, "probe.prompt"),
        ({"prompt": 7}, "probe.prompt"),
        ({"blocks": 0}, "probe.blocks"),
        ({"blocks": "3"}, "probe.blocks"),
        ({"warmup": True}, "probe.warmup"),
        ({"temperature": "hot"}, "probe.temperature"),
        ({"flush_cache": "no"}, "probe.flush_cache"),
        ({"concurrency": 8, "requests_per_block": 4}, "never reached"),
    ],
)
def test_what_cannot_be_measured_is_a_usage_error(probe, said):
    with pytest.raises(UsageError, match=said):
        workload_from_profile(probe)


@pytest.mark.parametrize(("probe", "near"), [({"prompt": "coed"}, "code"), ({"block": 3}, "blocks")])
def test_the_nearest_name_is_named(probe, near):
    with pytest.raises(UsageError) as caught:
        workload_from_profile(probe)
    assert near in caught.value.hint


def test_the_number_of_blocks_does_not_make_another_workload_but_an_edited_prompt_does():
    workload = Workload("chat", ("Hello.",))
    assert dataclasses.replace(workload, blocks=50).identity() == workload.identity()
    assert dataclasses.replace(workload, texts=("Hello!",)).identity() != workload.identity()
    assert dataclasses.replace(workload, concurrency=2).identity() != workload.identity()


def test_the_key_is_in_the_order_and_nowhere_else():
    workload = Workload("chat", ("Hello.",))
    assert workload.to_spec(1, "sk-secret")["api_key"] == "sk-secret"
    assert "sk-secret" not in repr(workload)
    assert "api_key" not in workload.identity()


def test_the_shipped_sets_are_several_prompts_of_real_text():
    assert prompt_set_names() == ("chat", "code", "extraction", "long")
    for name in prompt_set_names():
        prompts = load_prompt_set(name)
        assert len(prompts) == 3
        assert all(len(prompt.split()) > 100 for prompt in prompts)
    with pytest.raises(UsageError, match="no prompt set"):
        load_prompt_set("../workload")


def test_the_order_holds_what_the_agent_needs_and_an_adaptive_run_ends_by_its_budget():
    workload = workload_from_profile({"api": "completions", "model": "m", "keep_output": True, "adaptive": True})
    spec = workload.to_spec(8000, server_log="/logs/x.log")
    assert (spec["api"], spec["model"], spec["keep_output"]) == ("completions", "m", True)
    assert (spec["budget_s"], spec["server_log"]) == (600.0, "/logs/x.log")
    assert spec["blocks"] > 1000, "the console says when it is enough"
    assert parse_spec(spec).budget_s == 600.0
    fixed = workload_from_profile({"blocks": 4}).to_spec(8000)
    assert (fixed["blocks"], fixed["budget_s"]) == (4, None)
    assert parse_spec(fixed).api == "generate"


def test_another_api_is_another_workload_and_an_adaptive_run_is_not():
    assert workload_from_profile({"api": "chat"}).identity() != workload_from_profile({}).identity()
    assert workload_from_profile({"adaptive": True, "budget_min": 3}).identity() == workload_from_profile({}).identity()


@pytest.mark.parametrize(
    ("probe", "said"),
    [
        ({"api": "v1"}, "probe.api"),
        ({"api": ["generate"]}, "probe.api"),
        ({"api": "chat", "prompt": [5, 17]}, "chat takes no token ids"),
        ({"model": "a\nb"}, "probe.model"),
        ({"adaptive": "yes"}, "probe.adaptive"),
        ({"half_width": 0.9}, "probe.half_width"),
        ({"budget_min": 0}, "probe.budget_min"),
    ],
)
def test_what_an_adaptive_run_or_an_api_cannot_be_is_a_usage_error(probe, said):
    with pytest.raises(UsageError, match=said):
        workload_from_profile(probe)
