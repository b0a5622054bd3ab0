"""What a draft is, what a class inherits, and what a pair captures release by release."""

from __future__ import annotations

from typing import Any

import pytest

from console.wiring import draft, hook
from console.wiring.checkpoint import Checkpoint, Tensor
from console.wiring.layers import Captures
from console.wiring.timeline import timeline

KEY = "eagle_aux_hidden_state_layer_ids"


def target(name: str, layers: int = 61) -> dict[str, Any]:
    return {"architectures": [name], "num_hidden_layers": layers}


@pytest.mark.parametrize(
    ("config", "length"),
    [
        ({"max_position_embeddings": 2048}, 2048),
        ({"text_config": {"max_position_embeddings": 4096}}, 4096),
        ({"max_position_embeddings": 2048, "rope_scaling": {"factor": 4.0, "rope_type": "linear"}}, 8192),
        ({"max_position_embeddings": 2048, "rope_scaling": {"factor": 8.0, "rope_type": "llama3"}}, 2048),
        (
            {"max_position_embeddings": 9, "rope_scaling": {"factor": 64, "original_max_position_embeddings": 4}},
            9,
        ),
        ({"max_sequence_length": 100, "max_position_embeddings": 200}, 100),
        ({}, None),
        ({"max_position_embeddings": "many"}, None),
    ],
)
def test_context_length_as_sglang_derives_it(config, length):
    assert draft.context_length(config) == length


@pytest.mark.parametrize(
    ("config", "name"),
    [
        ({"torch_dtype": "bfloat16"}, "bfloat16"),
        ({"dtype": "float16", "torch_dtype": "bfloat16"}, "float16"),
        ({"torch_dtype": "float32"}, "float16"),
        ({"torch_dtype": "float32", "model_type": "gemma3"}, "bfloat16"),
        ({"text_config": {"torch_dtype": "torch.bfloat16"}}, "bfloat16"),
        ({"torch_dtype": None}, None),
    ],
)
def test_dtype_as_sglang_loads_it(config, name):
    assert draft.dtype(config) == name


@pytest.mark.parametrize(
    ("config", "release", "captures"),
    [
        ({}, None, 3),
        ({"num_aux_hidden_states": 4, "eagle_config": {KEY: [1, 2]}}, (0, 5, 12, 0), 4),
        ({"eagle_config": {KEY: [1, 2]}}, (0, 5, 12, 0), 2),
        ({"eagle_config": {KEY: [1, 2]}}, (0, 5, 11, 0), 3),
        ({KEY: [1, 2]}, (0, 5, 20, 0), 3),
        ({KEY: [1, 2], "architectures": ["Eagle3DeepseekV2ForCausalLM"]}, (0, 5, 20, 0), 2),
        ({"num_aux_hidden_states": 4, "architectures": ["Eagle3DeepseekV2ForCausalLM"]}, (0, 5, 20, 0), 3),
    ],
)
def test_what_fc_is_built_for(config, release, captures):
    fc = {"model.fc.weight": Tensor("BF16", (8, 24))}
    built = draft.built(Checkpoint("d", {"hidden_size": 8, **config}, fc), release)
    assert (built.captures, built.fc_in, built.state_width) == (captures, 24, 8)


CLASS = b"class Base(nn.Module):\n  def set_eagle3_layers_to_capture(self, layer_ids=None): pass\n"


@pytest.mark.parametrize(
    ("text", "has"),
    [
        (b"class X(nn.Module):\n  def set_eagle3_layers_to_capture(self): pass\n", True),
        (CLASS + b"class X(Base): pass\n", True),
        (b"class X(nn.Module):\n  set_eagle3_layers_to_capture = other\n", True),
        (b"class X(nn.Module):\n  def forward(self): pass\n", False),
        (b"class X(Elsewhere): pass\n", None),
        (b"class X(nn.Module):\n  def __getattr__(self, name): pass\n", None),
        (b"class X(X): pass\n", False),
        (b"class Y: pass\n", None),
        (b"class X(:\n", None),
    ],
)
def test_a_hook_is_had_or_inherited(text, has):
    assert hook.has_hook("X", [text]) is has


def test_a_base_may_stand_in_the_other_file():
    assert hook.has_hook("X", [b"class X(Base): pass\n", CLASS]) is True
    assert hook.files("KimiK25ForConditionalGeneration") == ("srt/models/kimi_k25.py", "srt/models/deepseek_v2.py")
    assert hook.files("Qwen3ForCausalLM") == ("srt/models/qwen3.py",)
    assert hook.files("NobodyKnows") == ()


def test_the_timeline_of_the_storys_draft():
    early, late = timeline(target("DeepseekV3ForCausalLM"), {"eagle_config": {KEY: [2, 30, 58]}})
    assert (early.when, early.eager) == ("from 0.5.5 to 0.5.12.post1", Captures((2, 30, 58)))
    assert (late.when, late.eager) == ("from 0.5.13", Captures((1, 29, 57)))


def test_releases_that_do_not_read_ids_are_no_change_of_meaning():
    (only,) = timeline(target("LlamaForCausalLM", 32), {"eagle_config": {KEY: [2, 14, 27]}})
    assert only.when == "from 0.4.10"
    assert timeline(target("NobodyKnows"), {}) == ()
