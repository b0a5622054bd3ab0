"""How SGLang ended with a wrong draft, as the crafted pair showed it on 0.5.20: each end is told by its cause."""

from __future__ import annotations

import pytest

from console import lint
from console.lint.context import LogContext
from tests.unit.lint.test_explain import CRASH, server_args
from tests.unit.logs.samples import told

TREE = "/v/lib/python3.11/site-packages/sglang/srt"
DRAFT = "/pairs/draft"
PLAIN = "AssertionError: Attempted to load weight (torch.Size([1024, 3072])) into parameter (torch.Size(["
HEAD = "AssertionError: self.org_vocab_size=384 self.use_presharded_weights=False loaded_weight.shape[output_dim]=512"
LOADS = ("speculative/eagle_worker_v2.py", "models/llama_eagle3.py", "model_loader/weight_utils.py")
EMBEDS = ("models/llama_eagle3.py", "layers/vocab_parallel_embedding.py")


def findings(frames: tuple[str, ...], sentence: str, draft: str = DRAFT) -> list[tuple[str, str]]:
    args = server_args(
        model_path="/pairs/target", speculative_draft_model_path=draft, speculative_algorithm="EAGLE3", tp_size=2
    )
    stack = "".join(f'  File "{TREE}/{frame}", line 9, in load\n    load()\n' for frame in frames)
    return [(each.rule, each.message) for each in lint.explain(LogContext.of(told(args + CRASH + stack + sentence)))]


@pytest.mark.parametrize(
    ("frames", "sentence", "rule", "says"),
    [
        (LOADS, PLAIN + "1024, 4096]))", "captures-mismatch", "for 3 captures in the checkpoint, the server built it"),
        (LOADS, PLAIN + "512, 3072]))", "hidden-size", "fc gives 1024 in the checkpoint, the server built it for 512"),
        (LOADS, HEAD, "draft-vocab", "head has 512 rows in the checkpoint, the server built it for 384"),
        (
            ("models/llama_eagle3.py",),
            "AttributeError: 'LlamaConfig' object has no attribute 'draft_vocab_size'",
            "draft-vocab",
            "no draft_vocab_size",
        ),
        (EMBEDS, "IndexError: index out of range in self", "draft-vocab", "vocab_size is not the target's"),
        (
            ("speculative/eagle_worker_v2.py",),
            "AttributeError: 'LlamaForCausalLMEagle' object has no attribute 'hot_token_id'",
            "algorithm-for-eagle3",
            "EAGLE-1/2",
        ),
        (("models/llama_eagle.py",), "RuntimeError: x", "algorithm-for-eagle3", "EAGLE-1/2"),
        (
            ("models/llama.py",),
            "TypeError: unsupported operand type(s) for +: 'Tensor' and 'NoneType'",
            "ids-out-of-range",
            "the embedding",
        ),
        (
            ("models/llama_eagle3.py",),
            "RuntimeError: expected m1 and m2 to have the same dtype, but got: c10::BFloat16 != c10::Half",
            "draft-dtype",
            "BFloat16 and Half",
        ),
        (
            LOADS,
            f"RuntimeError: Cannot find any model weights with `{DRAFT}`",
            "checkpoint-unreadable",
            "of the draft do not load",
        ),
        (
            LOADS,
            "safetensors._safetensors_rust.SafetensorError: Error while deserializing header: incomplete metadata",
            "checkpoint-unreadable",
            "of the draft do not load",
        ),
        (
            ("utils/hf_transformers/config.py",),
            f"ValueError: Unrecognized model in {DRAFT}. Should have a `model_type` key in its config.json.",
            "checkpoint-unreadable",
            f"{DRAFT} has no config.json",
        ),
    ],
)
def test_the_end_is_told_by_its_cause(frames, sentence, rule, says):
    ((found, message),) = findings(frames, sentence + "\n")
    assert found == rule
    assert says in message


def test_the_target_in_the_draft_s_place_is_told_by_its_path():
    words = "AssertionError: Only 1 nextn layer is supported\n"
    found = findings(("models/deepseek_nextn.py",), words, "/pairs/target")
    assert [rule for rule, _ in found] == ["draft-missing"]


@pytest.mark.parametrize(
    ("frames", "sentence"),
    [
        (("models/llama.py",), PLAIN + "1024, 4096]))"),
        (("models/llama.py",), HEAD),
        (("models/llama.py",), "IndexError: index out of range in self"),
        (("managers/scheduler.py",), "TypeError: unsupported operand type(s) for +: 'Tensor' and 'NoneType'"),
    ],
)
def test_the_same_words_elsewhere_are_not_laid_on_the_draft(frames, sentence):
    assert {rule for rule, _ in findings(frames, sentence + "\n")} <= {"server-died"}
