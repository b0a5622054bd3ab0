"""Each rule on wiring finds its fault and is silent without it; the files are real ones on disk."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from console import lint
from console.actions import doctor, read_checkpoint
from console.launch import asked
from console.lint.context import Installed, Launch
from console.wiring import reading
from tests import drafts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from console.lint.finding import Finding
    from tests.drafts import Pair

KIMI, OSS, LLAMA, WIDE = (
    "lightseekorg-kimi-k2.5-eagle3",
    "nvidia-gpt-oss-120b-eagle3-v3",
    "specforge-llama3-8b",
    "yuhuili-eagle3-llama3.3-70b",
)
EAGLE3 = (
    *("--speculative-algorithm", "EAGLE3", "--speculative-draft-model-path", "draft", "--speculative-num-steps", "3"),
    *("--speculative-eagle-topk", "1", "--speculative-num-draft-tokens", "4"),
)
OVERRIDE = {"SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN": "1"}
Make = "Callable[..., Launch]"


@pytest.fixture
def launch(tmp_path: Path) -> Callable[..., Launch]:
    def make(
        pair: Pair | str,
        version: str | None = "0.5.20",
        words: tuple[str, ...] = EAGLE3,
        env: dict[str, str] | None = None,
        trained: tuple[int, ...] | None = None,
        **more: Any,
    ) -> Launch:
        written = (drafts.load(pair) if isinstance(pair, str) else pair).write(tmp_path)
        assert written.name
        files = doctor.Files(
            target=read_checkpoint.from_files(reading.target(str(tmp_path / "target"))),
            draft=read_checkpoint.from_files(reading.draft(str(tmp_path / "draft"))),
            installed=more.pop("installed", Installed()),
        )
        made = doctor.gather(asked.read(words, OVERRIDE if env is None else env), version, files)
        return replace(made, trained=trained, trained_by="a manifest" if trained else "", **more)

    return make


def of(rule: str, launch: Launch) -> list[Finding]:
    return [each for each in lint.check(launch) if each.rule == rule]


def severities(rule: str, launch: Launch) -> list[str]:
    return [each.severity for each in of(rule, launch)]


def kimi(*ids: int) -> Pair:
    return drafts.load(KIMI).with_ids(*ids)


@pytest.mark.parametrize(
    ("algorithm", "architecture", "found"),
    [
        ("EAGLE", "LlamaForCausalLMEagle3", ["error"]),
        ("NEXTN", "Eagle3DeepseekV2ForCausalLM", ["error"]),
        ("eagle", "LlamaForCausalLMEagle3", ["error"]),
        ("EAGLE3", "LlamaForCausalLMEagle3", []),
        ("EAGLE3", "LlamaForCausalLMEagle", ["error"]),
        ("EAGLE", "LlamaForCausalLMEagle", []),
        ("EAGLE", "DeepseekV3ForCausalLMNextN", []),
    ],
)
def test_algorithm_for_eagle3(launch, algorithm, architecture, found):
    pair = drafts.load(KIMI).with_draft(architectures=[architecture])
    words = ("--speculative-algorithm", algorithm, *EAGLE3[2:])
    assert severities("algorithm-for-eagle3", launch(pair, words=words)) == found


def test_captures_mismatch_names_both_numbers(launch):
    (finding,) = of("captures-mismatch", launch(kimi(-1, 2, 30, 58)))
    assert finding.severity == "error"
    assert "4 states are captured (28672 wide), fc takes 3 × 7168 = 21504" in finding.message
    assert finding.evidence == "fc.weight [7168, 21504]"


def test_captures_mismatch(launch):
    rule, three = "captures-mismatch", drafts.load(KIMI)
    assert severities(rule, launch(three)) == []
    assert severities(rule, launch(three.with_draft(num_aux_hidden_states=4))) == ["error"]
    assert severities(rule, launch(kimi(2, 14, 30, 58).with_draft(num_aux_hidden_states=3))) == ["error"]
    assert severities(rule, launch(three.with_tensors(fc__weight=("BF16", [7168, 21500])))) == ["error"]
    four = kimi(2, 14, 30, 58).with_tensors(fc__weight=("BF16", [7168, 28672]))
    assert severities(rule, launch(four, "0.5.12")) == []
    assert severities(rule, launch(four, "0.5.11")) == ["error"], "fc is built for three before 0.5.12"
    assert severities(rule, launch(three.with_ids(2, 30, 58, use_aux_hidden_state=False))) == ["error"]


def test_another_targets_draft(launch):
    wide = drafts.load(WIDE)
    assert severities("captures-mismatch", launch(wide)) == []
    (finding,) = of("captures-mismatch", launch(wide.with_draft(target_hidden_size=...)))
    assert '"target_hidden_size": 8192' in finding.hint
    (finding,) = of("captures-mismatch", launch(drafts.load(KIMI).with_target(text_config={"hidden_size": 4096})))
    assert "states 7168 wide, the target's are 4096" in finding.message


@pytest.mark.parametrize(
    ("version", "ids", "found", "write"),
    [
        ("0.5.12.post1", (2, 30, 58), [], ""),
        ("0.5.13", (2, 30, 58), ["error"], "[3, 31, 59]"),
        ("0.5.13", (3, 31, 59), [], ""),
        ("0.5.12.post1", (3, 31, 59), ["error"], "[2, 30, 58]"),
        (None, (2, 30, 58), ["warn"], "--sglang-version"),
    ],
)
def test_layer_outputs_against_training(launch, version, ids, found, write):
    told = of("layer-outputs", launch(kimi(*ids), version, trained=(2, 30, 58)))
    assert [each.severity for each in told] == found
    assert all(write in each.hint for each in told)


@pytest.mark.parametrize("version", ["0.5.12.post1", "0.5.13", None])
def test_layer_outputs_of_an_unknown_convention(launch, version):
    (finding,) = of("layer-outputs", launch(kimi(2, 30, 58), version))
    assert finding.severity == "warn"
    assert "2, 30, 58 from 0.5.10 to 0.5.12.post1; 1, 29, 57 from 0.5.13" in finding.evidence
    assert of("layer-outputs", launch(kimi(1, 29, 57), version)) == []
    assert of("layer-outputs", launch(LLAMA, version)) == []


def test_an_order_that_no_ids_give(launch):
    (finding,) = of("layer-outputs", launch(kimi(3, 31, 59), trained=(30, 2, 58)))
    assert "in the order of layers" in finding.hint


def test_graph_captures_differ(launch):
    rule = "graph-captures-differ"
    (finding,) = of(rule, launch(kimi(2, 30, 58), "0.5.10.post1"))
    assert finding.severity == "error"
    assert "captures the outputs of layers 1, 29, 57, a prefill those of 2, 30, 58" in finding.message
    assert of(rule, launch(kimi(2, 30, 58), "0.5.11")) == []
    assert of(rule, launch(kimi(1, 29, 57), "0.5.9")) == []
    assert of(rule, launch(kimi(2, 30, 58), "0.5.9", (*EAGLE3, "--disable-cuda-graph"))) == []


def test_ids_ignored(launch):
    (finding,) = of("ids-ignored", launch("speculators-qwen3-8b"))
    assert finding.severity == "warn"
    assert finding.evidence == "captured: outputs of layers 1, 17, 32; nested, they would capture 2, 18, 33"
    unreadable = drafts.load(KIMI).with_draft(eagle_config={"eagle_aux_hidden_state_layer_ids": "2,30,58"})
    assert severities("ids-ignored", launch(unreadable)) == ["warn"]
    assert of("ids-ignored", launch(KIMI)) == []


@pytest.mark.parametrize(
    ("version", "ids", "found"),
    [
        ("0.5.20", (2, 30, 58), []),
        ("0.5.20", (2, 30, 62), ["error"]),
        ("0.5.20", (2, 2, 58), ["error"]),
        ("0.5.20", (-2, 30, 58), ["error"]),
        ("0.5.12.post1", (-1, 30, 58), ["error"]),
        ("0.5.12.post1", (2, 30, 60), ["error"]),
        (None, (2, 30, 90), ["error"]),
        (None, (2, 30, 58), []),
    ],
)
def test_ids_out_of_range(launch, version, ids, found):
    assert severities("ids-out-of-range", launch(kimi(*ids), version)) == found


def test_ids_order(launch):
    assert severities("ids-order", launch(kimi(30, 2, 58), "0.5.12")) == ["warn"]
    assert severities("ids-order", launch(kimi(30, 2, 58), "0.5.12", trained=(2, 30, 58))) == []
    assert severities("ids-order", launch(KIMI)) == []


def test_tensor_names_need_release(launch):
    rule, three = "tensor-names-need-release", drafts.load(KIMI)
    mla, layers = drafts.load("nvidia-kimi-k2.5-thinking-eagle3"), drafts.load(OSS)
    for pair, since in ((mla, "0.5.12"), (layers, "0.5.12"), (three.with_draft(norm_output=True), "0.5.12")):
        assert severities(rule, launch(pair, "0.5.11")) == ["error"], pair.name
        assert severities(rule, launch(pair, since)) == []
        assert severities(rule, launch(pair, None)) == ["warn"]
    before = three.with_draft(norm_before_fc=True).with_tensors(input_norm__weight=("BF16", [21504]))
    assert severities(rule, launch(before, "0.5.16")) == ["error"]
    assert severities(rule, launch(before, "0.5.17")) == []
    bias = three.with_tensors(fc__bias=("BF16", [7168]))
    assert severities(rule, launch(bias)) == ["error"]
    assert severities(rule, launch(bias.with_draft(bias=True))) == []
    assert severities(rule, launch(three, "0.5.9")) == []


def test_target_without_hook_believes_the_installed_file(launch):
    rule, file = "target-without-hook", "srt/models/kimi_k25.py"
    (finding,) = of(rule, launch(KIMI, "0.5.9"))
    assert (finding.severity, finding.evidence) == ("error", "by the table of releases")
    assert "from 0.5.10 on" in finding.hint
    assert of(rule, launch(KIMI, "0.5.10")) == []
    assert of(rule, launch(KIMI, "0.5.9", installed=Installed(has_hook=True, model_file=file))) == []
    (finding,) = of(rule, launch(KIMI, "0.5.12", installed=Installed(has_hook=False, model_file=file)))
    assert (finding.severity, finding.evidence) == ("error", f"read in the installed {file}")
    assert severities(rule, launch(KIMI, "0.5.9", installed=Installed(model_file=file))) == ["warn"]
    assert severities(rule, launch(drafts.load(LLAMA).with_target(architectures=["NewForCausalLM"]))) == ["warn"]


def test_draft_vocab(launch):
    rule, three = "draft-vocab", drafts.load(KIMI)
    assert severities(rule, launch(three)) == []
    assert severities(rule, launch(three.with_draft(draft_vocab_size=...))) == ["error"]
    assert severities(rule, launch(three.with_draft(draft_vocab_size=16000))) == ["error", "error"], "head, map"
    assert severities(rule, launch(three.with_tensors(d2t=None))) == ["error"]
    assert severities(rule, launch(three.with_draft(vocab_size=128256))) == ["warn"]
    assert severities(rule, launch("torchspec-kimi-k25")) == [], "a null size means the target's head"


def test_the_head_of_the_targets_vocabulary(launch):
    # SafeAILab/EAGLE issue 249: 32000 rows for a head of 128256.
    pair = drafts.load(LLAMA).with_draft(draft_vocab_size=128256)
    found = of("draft-vocab", launch(pair))
    assert "lm_head has 32000 rows, the draft's vocabulary 128256" in found[0].message
    assert '"draft_vocab_size": 32000' in found[0].hint


@pytest.mark.parametrize(
    ("d2t", "marks", "says"),
    [
        ((0, 1, 1), (0, 2, 3), None),
        ((0, -1, -2), (0, 1, 2), "not increasing"),
        ((0, 5, 2), (0, 4, 6), "not increasing"),
        ((0, 0, 163_900), (0, 1, 2), "token 163902"),
        ((0, 1, 1), (0, 1, 3), "of different tokens"),
        ((0, 1, 1), (0, 2), "marks 2 tokens"),
    ],
)
def test_the_map_of_the_draft_vocabulary(launch, tmp_path, d2t, marks, says):
    pair = (
        drafts.load(KIMI)
        .with_draft(draft_vocab_size=3)
        .with_tensors(lm_head__weight=("BF16", [3, 7168]), d2t=("I64", [3]), t2d=("BOOL", [163840]))
    )
    made = launch(pair)
    values = {"d2t": struct.pack("<3q", *d2t), "t2d": bytes(token in marks for token in range(8))}
    drafts.write_sparse(tmp_path / "draft" / "model.safetensors", pair.tensors, values=values)
    made = replace(made, draft=read_checkpoint.from_files(reading.draft(str(tmp_path / "draft"))))
    found = [each.message for each in of("draft-vocab", made)]
    assert len(found) == (1 if says else 0)
    assert all(says in message for message in found)


def test_draft_dtype(launch):
    half = drafts.load("specforge-deepseek-v3")
    (finding,) = of("draft-dtype", launch(half))
    assert (finding.severity, finding.hint) == ("warn", "Give --dtype bfloat16.")
    assert of("draft-dtype", launch(half, words=(*EAGLE3, "--dtype", "bfloat16"))) == []
    assert severities("draft-dtype", launch(half, words=(*EAGLE3, "--dtype", "auto"))) == ["warn"]
    assert severities("draft-dtype", launch(half.with_draft(torch_dtype="float32"))) == ["warn"]
    assert of("draft-dtype", launch(KIMI)) == []


@pytest.mark.parametrize(
    ("context", "env", "version", "found"),
    [
        ("32768", {}, "0.5.20", ["error"]),
        ("32768", {}, "0.4.6.post1", ["warn"]),
        ("32768", OVERRIDE, "0.5.20", ["warn"]),
        ("32768", {"SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN": "0"}, "0.5.20", ["error"]),
        ("2048", {}, "0.5.20", []),
        (None, {}, "0.5.20", ["error"]),
    ],
)
def test_draft_context(launch, context, env, version, found):
    words = (*EAGLE3, "--context-length", context) if context else EAGLE3
    assert severities("draft-context", launch(WIDE, version, words, env)) == found


def test_draft_attention_backend(launch):
    rule, mla = "draft-attention-backend", ("--attention-backend", "trtllm_mla")
    assert severities(rule, launch(KIMI, words=(*EAGLE3, *mla))) == ["warn"]
    own = ("--speculative-draft-attention-backend", "trtllm_mha")
    assert severities(rule, launch(KIMI, words=(*EAGLE3, *mla, *own))) == []
    assert severities(rule, launch(KIMI, architecture=(10, 0))) == ["warn"]
    assert severities(rule, launch(KIMI, architecture=(9, 0))) == []
    assert severities(rule, launch("lightseekorg-kimi-k2.5-eagle3-mla", words=(*EAGLE3, *mla))) == []
    assert severities(rule, launch(LLAMA, words=(*EAGLE3, *mla))) == []


def test_hidden_size(launch):
    rule, wide = "hidden-size", drafts.load(WIDE)
    assert severities(rule, launch(wide)) == []
    assert severities(rule, launch(wide.with_tensors(embed_tokens__weight=None))) == ["error"]
    assert severities(rule, launch(wide.with_tensors(fc__weight=("BF16", [8192, 24576])))) == ["error"]
    query = {"midlayer__self_attn__q_proj__weight": ("BF16", [6144, 6144])}
    assert severities(rule, launch(wide.with_tensors(**query))) == ["error"]


def test_hidden_size_of_other_drafts(launch):
    small = drafts.load(LLAMA).with_draft(architectures=["LlamaForCausalLM"], hidden_size=2048)
    words = ("--speculative-algorithm", "STANDALONE", *EAGLE3[2:])
    (finding,) = of("hidden-size", launch(small, words=words))
    assert (finding.severity, finding.evidence) == ("warn", "target hidden 4096, draft hidden 2048")
    eagle = small.with_draft(architectures=["LlamaForCausalLMEagle"])
    assert severities("hidden-size", launch(eagle, words=("--speculative-algorithm", "EAGLE", *EAGLE3[2:]))) == [
        "error"
    ]


@pytest.mark.parametrize(
    ("pair", "version", "says"),
    [
        (LLAMA, "0.5.12.post1", "5 steps, topk 4, 8 draft tokens"),
        (KIMI, "0.5.12.post1", "3 steps, topk 1, 4 draft tokens"),
        (KIMI, "0.4.6.post1", "5 steps, topk 4, 8 draft tokens"),
        (KIMI, None, "left to SGLang"),
    ],
)
def test_default_steps(launch, pair, version, says):
    (finding,) = of("default-steps", launch(pair, version, EAGLE3[:4]))
    assert finding.severity == "info"
    assert says in finding.message
    assert of("default-steps", launch(pair, version)) == []


def test_debug_with_graphs(launch):
    rule, on = "debug-with-graphs", {**OVERRIDE, "EAGLE3_DEBUG": "1"}
    (finding,) = of(rule, launch(KIMI, env=on))
    assert finding.severity == "warn"
    assert "--debug-cuda-graph" in finding.hint
    assert "--debug-cuda-graph" not in of(rule, launch(KIMI, "0.5.9", env=on))[0].hint
    assert of(rule, launch(KIMI, env=on, words=(*EAGLE3, "--disable-cuda-graph"))) == []
    assert of(rule, launch(KIMI, env={**OVERRIDE, "EAGLE3_CYCLE": "1"})) == []
    assert of(rule, launch(KIMI, env={**OVERRIDE, "EAGLE3_DEBUG": "0"})) == []


def test_memory_for_draft_shows_its_formula(launch):
    rule, memory = "memory-for-draft", 80 << 30
    words = (*EAGLE3, "--mem-fraction-static", "0.975", "--tp-size", "8")
    (finding,) = of(rule, launch(KIMI, words=words, gpu_memory_bytes=memory))
    assert finding.severity == "warn"
    assert "80.0 GiB × (1 - 0.975) = 2.0 GiB" in finding.evidence
    assert "/ tp 8 + 2.0 GiB" in finding.evidence
    lower = float(finding.hint.removesuffix(".").split()[-1])
    words = (*EAGLE3, "--mem-fraction-static", str(lower), "--tp-size", "8")
    assert of(rule, launch(KIMI, words=words, gpu_memory_bytes=memory)) == []
    assert of(rule, launch(KIMI, words=words)) == [], "the size of the GPUs is not known"


WIRING = {
    *("algorithm-for-eagle3", "captures-mismatch", "layer-outputs", "graph-captures-differ", "ids-ignored"),
    *(
        "ids-out-of-range",
        "ids-order",
        "tensor-names-need-release",
        "target-without-hook",
        "draft-vocab",
        "draft-dtype",
    ),
    *(
        "draft-context",
        "draft-attention-backend",
        "hidden-size",
        "default-steps",
        "debug-with-graphs",
        "memory-for-draft",
    ),
}


def test_every_rule_says_why_and_where_it_was_learned():
    rules = {each.id: each for each in lint.all_rules()}
    assert rules.keys() >= WIRING
    assert all(each.why and each.source and each.title for each in rules.values())


def test_configs_of_any_kind_raise_nothing(launch, tmp_path):
    made = launch(KIMI)
    assert made.draft is not None
    assert made.target is not None
    junk: tuple[Any, ...] = (None, "x", -1, 1.5, [], {}, [1, "a"], True)
    for key in {*made.draft.config, "eagle_config", "rope_scaling", "text_config", "num_aux_hidden_states"}:
        for value in junk:
            draft = replace(made.draft, config={**made.draft.config, key: value})
            target = replace(made.target, config={**made.target.config, key: value})
            files = doctor.Files(target=target, draft=draft)
            lint.check(doctor.gather(made.asked, "0.5.13", files))


def test_a_checkpoint_that_does_not_load(launch, tmp_path):
    rule, whole = "checkpoint-unreadable", launch(LLAMA)
    assert of(rule, whole) == []
    weights = tmp_path / "draft" / "model.safetensors"
    size = weights.stat().st_size

    def draft() -> Launch:
        return replace(whole, draft=read_checkpoint.from_files(reading.draft(str(tmp_path / "draft"))))

    with weights.open("r+b") as file:
        file.truncate(size // 2)
    (finding,) = of(rule, draft())
    assert (finding.severity, "the draft does not load" in finding.message) == ("error", True)
    weights.unlink()
    assert severities(rule, draft()) == ["warn"]
    (tmp_path / "draft" / "pytorch_model.bin").write_bytes(b"x")
    assert of(rule, draft()) == []
    (tmp_path / "target" / "config.json").write_text("{")
    target = read_checkpoint.from_files(reading.target(str(tmp_path / "target")))
    assert severities(rule, replace(whole, target=target)) == ["error"]
