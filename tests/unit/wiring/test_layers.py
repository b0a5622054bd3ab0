"""Resolved layer outputs: each boundary that was read in the releases, and what real servers captured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.wiring import setter, targets
from console.wiring.layers import KEY, Captures, Resolution, captures, draft_ids, ids_for, resolve, values_of
from console.wiring.targets import READ, Rule, release

SEEN = json.loads((Path(__file__).parents[2] / "data" / "wiring" / "captures.json").read_text(encoding="utf-8"))
OUTPUTS, EARLY = (2, 30, 58), (1, 29, 57)


def target(name: str, layers: int = 61) -> dict[str, Any]:
    return {"architectures": [name], "num_hidden_layers": layers}


def draft(ids: object = None, **more: object) -> dict[str, Any]:
    return {"eagle_config": {**({} if ids is None else {KEY: ids}), **more}}


KIMI = {"architectures": ["KimiK25ForConditionalGeneration"], "text_config": {"num_hidden_layers": 61}}
DEEPSEEK = target("DeepseekV3ForCausalLM")


def both(version: str, ids: object, of: dict[str, Any] = DEEPSEEK) -> tuple[Any, Any]:
    found = resolve(version, of, draft(ids))
    return found.eager and found.eager.outputs, found.replay and found.replay.outputs


@pytest.mark.parametrize("version", ["0.5.5", "0.5.9", "0.5.10", "0.5.10.post1"])
def test_graphs_of_old_releases_replay_the_default_whatever_the_ids_say(version: str) -> None:
    assert both(version, [2, 30, 58]) == (OUTPUTS, EARLY)
    assert both(version, [1, 29, 57]) == (EARLY, EARLY), "harmless where the ids mean the default"
    assert resolve(version, DEEPSEEK, draft([2, 30, 58])).differs_in_replay


@pytest.mark.parametrize("version", ["0.5.11", "0.5.12", "0.5.12.post1", "0.5.12.post1+cu130"])
def test_ids_are_layer_outputs_up_to_0_5_12_post1(version: str) -> None:
    assert both(version, [2, 30, 58]) == (OUTPUTS, OUTPUTS)
    assert both(version, [2, 30, 58], KIMI) == (OUTPUTS, OUTPUTS)


@pytest.mark.parametrize("version", [v for v in READ if (release(v) or (0,)) >= (0, 5, 13, 0)])
def test_from_0_5_13_on_deepseek_takes_ids_as_they_are_unless_the_first_is_1(version: str) -> None:
    for pair in (DEEPSEEK, KIMI, target("Glm4MoeLiteForCausalLM")):
        assert both(version, [2, 30, 58], pair) == (EARLY, EARLY)
        assert both(version, [3, 31, 59], pair) == (OUTPUTS, OUTPUTS)
        assert both(version, [1, 29, 57], pair) == (EARLY, EARLY)
    assert both(version, [2, 30, 58], target("LlamaForCausalLM")) == (OUTPUTS, OUTPUTS)
    assert both(version, [2, 30, 58], target("Glm4MoeForCausalLM")) == (OUTPUTS, OUTPUTS)


@pytest.mark.parametrize("version", READ)
def test_without_ids_the_default_is_the_same_in_every_release(version: str) -> None:
    assert both(version, None, target("LlamaForCausalLM")) == (EARLY, EARLY)


def test_ids_are_not_read_before_0_4_10() -> None:
    assert both("0.4.8", [2, 30, 58], target("LlamaForCausalLM")) == (EARLY, EARLY)
    assert both("0.4.10", [2, 30, 58], target("LlamaForCausalLM")) == (OUTPUTS, EARLY)


def test_gpt_oss_may_name_the_last_layer_from_0_5_17_on() -> None:
    oss = target("GptOssForCausalLM", 36)
    assert both("0.5.17", [24, 30, 36], oss)[0] == (23, 29, 35)
    assert both("0.5.17", [24, 30, 34], oss)[0] == (24, 30, 34)
    before = resolve("0.5.16", oss, draft([24, 30, 36]))
    assert before.eager == Captures((24, 30), ("the output of layer 36 is never captured (n = 36)",))


def test_a_vision_target_with_a_shifted_default() -> None:
    m3 = target("MiniMaxM3SparseForConditionalGeneration")
    assert both("0.5.20", None, m3) == (OUTPUTS, OUTPUTS)


def test_layers_that_keep_their_marks_are_not_guessed() -> None:
    qwen = target("Qwen3MoeForCausalLM", 94)
    old = resolve("0.5.9", qwen, draft([1, 46, 91]))
    assert old.eager is None
    assert old.replay == Captures((1, 46, 90))
    assert "marks" in old.unknown
    assert both("0.5.9", [1, 46, 90], qwen) == ((1, 46, 90), (1, 46, 90))
    assert both("0.5.11", [1, 46, 91], qwen) == ((1, 46, 91), (1, 46, 91))


@pytest.mark.parametrize(
    ("version", "of", "why"),
    [
        ("0.5.9", KIMI, "0.5.10 is the first release"),
        ("0.5.4", DEEPSEEK, "0.5.5 is the first release"),
        ("0.5.13rc0", DEEPSEEK, "is no release"),
        ("0.5.14.dev7+gabcdef", DEEPSEEK, "is no release"),
        ("0.5.24", DEEPSEEK, "not among the releases that were read"),
        (None, DEEPSEEK, "version is not known"),
        ("0.5.20", target("BrandNewForCausalLM"), "no rule is known"),
        ("0.5.20", {"num_hidden_layers": 61}, "names no architecture"),
        ("0.5.20", {"architectures": ["LlamaForCausalLM"]}, "num_hidden_layers"),
    ],
)
def test_what_was_not_read_is_unknown(version: str | None, of: dict[str, Any], why: str) -> None:
    found = resolve(version, of, draft([2, 30, 58]))
    assert (found.eager, found.replay) == (None, None)
    assert why in found.unknown


def test_a_release_that_was_not_read_is_known_only_between_equal_ones() -> None:
    assert both("0.5.18", [2, 30, 58]) == (EARLY, EARLY)
    oss = resolve("0.5.16.post1", target("GptOssForCausalLM", 36), draft([24, 30, 36]))
    assert "the releases around it differ" in oss.unknown


def test_the_installed_file_is_believed_before_the_release() -> None:
    as_in_0_5_13 = setter.SetterForm("plus-one-if-first-is-1", 0)
    found = resolve("0.5.12", DEEPSEEK, draft([2, 30, 58]), as_in_0_5_13)
    assert found.eager == Captures(EARLY)
    assert "deepseek_v2.py" in found.source
    dev = resolve("0.5.14.dev7+gabcdef", DEEPSEEK, draft([2, 30, 58]), as_in_0_5_13)
    assert (dev.eager, dev.replay) == (Captures(EARLY), None)
    assert "CUDA graphs" in dev.unknown
    assert resolve("0.5.12", DEEPSEEK, draft([2, 30, 58]), "read, not understood").unknown == "read, not understood"
    assert resolve("0.5.9", KIMI, draft([2, 30, 58]), as_in_0_5_13).eager is None


def test_where_the_key_stands() -> None:
    assert draft_ids({KEY: [2, 30, 58]}).ids is None
    assert draft_ids({KEY: [2, 30, 58]}).top_level
    assert draft_ids(draft([2, 30, 58])).ids == OUTPUTS
    for eagle in (None, [], "x"):
        assert draft_ids({"eagle_config": eagle}).ids is None
    for odd in ("2,30,58", [2, "30"], [2.0], [True], {"a": 1}):
        assert draft_ids(draft(odd)).unreadable
        assert resolve("0.5.20", DEEPSEEK, draft(odd)).eager is None


def test_use_aux_hidden_state_is_honoured_from_0_5_8_on() -> None:
    off = draft([2, 30, 58], use_aux_hidden_state=False)
    assert resolve("0.5.7", DEEPSEEK, off).eager == Captures(OUTPUTS)
    found = resolve("0.5.8", DEEPSEEK, off)
    assert found.eager == found.replay
    assert found.eager is not None
    assert found.eager.outputs == ()
    assert "use_aux_hidden_state" in found.eager.faults[0]


@pytest.mark.parametrize("run", SEEN["runs"], ids=lambda run: f"{run['target']}-{run['version']}-{run['ids']}")
def test_what_real_servers_captured(run: dict[str, Any]) -> None:
    found = resolve(run["version"], SEEN["targets"][run["target"]], draft(run["ids"]))
    assert found.eager is not None
    if "failed" in run:
        assert found.eager.faults
    else:
        assert found.eager == found.replay == Captures(tuple(run["outputs"]))


@pytest.mark.parametrize("run", SEEN["runs"], ids=lambda run: f"{run['target']}-{run['version']}-{run['ids']}")
def test_ids_that_would_have_been_right(run: dict[str, Any]) -> None:
    pair = SEEN["targets"][run["target"]]
    rule = _rule(resolve(run["version"], pair, draft()))
    ids = ids_for(rule, 8, (2, 3, 6))
    assert ids == ((2, 3, 6) if run["target"] == "llama" or run["version"] == "0.5.12.post1" else (3, 4, 7))


def _rule(found: Resolution) -> Rule:
    assert found.rule is not None
    return found.rule


@pytest.mark.parametrize(
    ("version", "of", "outputs", "ids"),
    [
        ("0.5.12.post1", KIMI, OUTPUTS, (2, 30, 58)),
        ("0.5.13", KIMI, OUTPUTS, (3, 31, 59)),
        ("0.5.12.post1", KIMI, EARLY, (1, 29, 57)),
        ("0.5.13", KIMI, EARLY, (1, 29, 57)),
        ("0.5.13", KIMI, (0, 29, 57), (58, 1, 30)),
        ("0.5.14", KIMI, (-1, 29, 57), (0, 30, 58)),
        ("0.5.13", KIMI, (-1, 29, 57), "the embedding cannot be captured"),
        ("0.5.13", KIMI, (0,), "no ids make"),
        ("0.5.20", KIMI, (2, 30, 60), "the output of layer 60 is never captured"),
        ("0.5.20", KIMI, (2, 58, 30), "order of layers"),
        ("0.5.20", KIMI, (2, 2, 30), "stands twice"),
        ("0.5.20", KIMI, (-2, 2, 30), "there is no layer -2"),
        ("0.5.20", KIMI, (), "no layer outputs"),
        ("0.4.8", target("LlamaForCausalLM"), OUTPUTS, "does not read ids"),
        ("0.5.20", target("Gemma3ForCausalLM", 34), (2, 17, 33), (2, 17, 33)),
        ("0.5.16", target("GptOssForCausalLM", 36), (2, 17, 35), "the output of layer 35 is never captured"),
        ("0.5.17", target("GptOssForCausalLM", 36), (2, 17, 35), (2, 17, 35)),
        ("0.5.20", target("Qwen3ForCausalLM"), (-1, 2, 30), "embedding in this version is not known"),
    ],
)
def test_what_to_write(version: str, of: dict[str, Any], outputs: tuple[int, ...], ids: object) -> None:
    found = resolve(version, of, draft())
    assert found.layers is not None
    got = ids_for(_rule(found), found.layers, outputs)
    assert got == ids if isinstance(ids, tuple) else isinstance(got, str) and str(ids) in got, got


RULES = sorted(
    {rule for each in targets._TARGETS.values() for _since, rule in each.steps if rule.shift != "fixed"}, key=str
)


@given(st.sampled_from(RULES), st.integers(4, 100), st.lists(st.integers(-3, 105), max_size=6))
def test_what_is_written_is_what_is_captured(rule: Rule, layers: int, ids: list[int]) -> None:
    made = captures(rule, layers, tuple(ids))
    if isinstance(made, str) or made.faults:
        return
    back = ids_for(rule, layers, made.outputs)
    assert not isinstance(back, str), back
    assert captures(rule, layers, back) == made
    assert sorted(values_of(rule, layers, back)) == [output + 1 for output in made.outputs]


def _setter(body: str) -> bytes:
    head = "class X:\n    def set_eagle3_layers_to_capture(self, layer_ids=None):\n"
    return (head + "".join(f"        {line}\n" for line in body.splitlines())).encode()


PLUS = """if layer_ids is None:
    num_layers = self.config.num_hidden_layers
    self.model.layers_to_capture = [2, num_layers // 2, num_layers - 3]
else:
    self.model.layers_to_capture = [val + 1 for val in layer_ids]"""


def test_a_setter_is_read_and_an_edited_one_is_not_guessed() -> None:
    assert setter.read(_setter(PLUS)) == setter.SetterForm("plus-one", 0)
    for edited in (
        PLUS.replace("val + 1", "val + 2"),
        PLUS.replace("num_layers - 3", "num_layers - 4"),
        PLUS.replace("else:", "elif layer_ids[0] == 0:"),
        PLUS.replace("[val + 1 for val in layer_ids]", "layer_ids"),
        "pass",
    ):
        assert setter.read(_setter(edited)) is None, edited
    assert setter.read(b"def broken(:") is None
    assert setter.read(b"\x00") is None
