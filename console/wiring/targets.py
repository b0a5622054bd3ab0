"""Which rule a target of a release turns layer ids by: what `set_eagle3_layers_to_capture` does in 28 releases.

Read in the wheels from 0.4.6.post1 to 0.5.23 and held against their own code, run, by tests/wheels/test_layers.py.
Inside the model a value i means "the input of layer i", which is the output of layer i - 1; 0 is the embedding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from console.launch.releases import READ as READ
from console.launch.releases import Release as Release
from console.launch.releases import release as release

Shift = Literal["fixed", "plus-one", "plus-one-if-first-is-1", "plus-one-unless-last-is-n"]
"""From id to value: ids are not read at all; id + 1; id + 1 where the first id is 1, else as it is (deepseek_v2 from
0.5.13 on); id + 1, but as it is where the highest id is the number of layers (gpt_oss from 0.5.17 on)."""
Embedding = Literal["captured", "fails", "unknown"]


@dataclass(frozen=True, slots=True)
class Rule:
    """How ids become captures."""

    shift: Shift
    default_plus: int = 0
    """Added to the default [2, n // 2, n - 3], which other targets use as it is."""
    embedding: Embedding = "unknown"
    """What a value of 0 does."""
    has_last: bool = False
    """True: a value of n captures the output of the last layer; else it is never reached."""
    marks: bool = False
    """True: layers are marked one by one, and a mark is never taken off when ids are set again."""


@dataclass(frozen=True, slots=True)
class Target:
    """One architecture: the file under srt/models/ that has its setter, and its rules by the first release of each."""

    file: str
    steps: tuple[tuple[str, Rule], ...]


_FIXED = Rule("fixed")
_PLUS = Rule("plus-one")
_MARKS = Rule("plus-one", marks=True)
_LAST = Rule("plus-one", has_last=True)
_IF_1 = Rule("plus-one-if-first-is-1")

_LLAMA = (
    ("0.4.6.post1", _FIXED),
    ("0.4.10", Rule("plus-one", embedding="fails")),
    ("0.5.23", _PLUS),
)
_DEEPSEEK = (
    ("0.5.5", Rule("plus-one", embedding="fails")),
    ("0.5.13", Rule("plus-one-if-first-is-1", embedding="fails")),
    ("0.5.14", Rule("plus-one-if-first-is-1", embedding="captured")),
)
_GPT_OSS = (
    ("0.5.1", _PLUS),
    ("0.5.17", Rule("plus-one-unless-last-is-n", embedding="captured", has_last=True)),
)


def _since(first: str, steps: tuple[tuple[str, Rule], ...]) -> tuple[tuple[str, Rule], ...]:
    """The steps from `first` on."""
    at = release(first)
    assert at is not None
    before = [rule for since, rule in steps if (release(since) or at) <= at]
    return ((first, before[-1]), *(step for step in steps if (release(step[0]) or at) > at))


def target(architecture: str | None) -> Target | None:
    """The target that is known by this architecture."""
    return _TARGETS.get(architecture or "")


def rule_at(known: Target, version: str | None) -> Rule | str:
    """The rule of a target in a release, or why it is not known."""
    at = release(version)
    if at is None:
        return f"version {version!r} is no release" if version else "the SGLang version is not known"
    if not _READ[0] <= at <= _READ[-1]:
        return f"{version} is not among the releases that were read ({READ[0]} to {READ[-1]})"
    below = max(each for each in _READ if each <= at)
    above = min(each for each in _READ if each >= at)
    rule = _rule(known, below)
    if rule != _rule(known, above):
        return f"{version} was not read, and the releases around it differ here"
    return rule or f"{known.steps[0][0]} is the first release known to have EAGLE-3 for this target"


def is_before(known: Target, version: str | None) -> bool:
    """True for a release before the first one that is known to have EAGLE-3 for this target."""
    at, first = release(version), release(known.steps[0][0])
    return at is not None and first is not None and at < first


def _rule(known: Target, at: Release) -> Rule | None:
    rules = [rule for since, rule in known.steps if (release(since) or at) <= at]
    return rules[-1] if rules else None


_READ = tuple(sorted(each for each in map(release, READ) if each))


def _all() -> dict[str, Target]:
    found: dict[str, Target] = {}

    def add(file: str, names: str, *steps: tuple[str, Rule]) -> None:
        found.update({name: Target(file, steps) for name in names.split()})

    add("llama", "LlamaForCausalLM Llama4ForCausalLM MistralForCausalLM Phi3ForCausalLM InternLM3ForCausalLM", *_LLAMA)
    add("llama", "Llama4ForConditionalGeneration", *_since("0.4.10", _LLAMA))
    add("llama", "TeleFLMForCausalLM", *_since("0.5.6", _LLAMA))
    add("llama", "Ministral3ForCausalLM", *_since("0.5.7", _LLAMA))
    add("llama", "IQuestCoderForCausalLM", *_since("0.5.8", _LLAMA))
    add("deepseek_v2", "DeepseekV2ForCausalLM DeepseekV3ForCausalLM DeepseekV32ForCausalLM", *_DEEPSEEK)
    add("deepseek_v2", "MistralLarge3ForCausalLM", *_since("0.5.7", _DEEPSEEK))
    add("deepseek_v2", "GlmMoeDsaForCausalLM", *_since("0.5.9", _DEEPSEEK))
    add("deepseek_v2", "KimiK25ForConditionalGeneration", *_since("0.5.10", _DEEPSEEK))
    add("glm4_moe_lite", "Glm4MoeLiteForCausalLM", ("0.5.13", _IF_1))
    add("gpt_oss", "GptOssForCausalLM", *_GPT_OSS)
    add("qwen3", "Qwen3ForCausalLM", ("0.4.10", _PLUS))
    add("qwen3_moe", "Qwen3MoeForCausalLM", ("0.4.10", _PLUS), ("0.5.5", _MARKS))
    add("qwen2", "Qwen2ForCausalLM", ("0.5.2", _PLUS))
    add("qwen2_moe", "Qwen2MoeForCausalLM", ("0.5.2", _PLUS), ("0.5.5", _MARKS))
    add("qwen2_5_vl", "Qwen2_5_VLForConditionalGeneration", ("0.5.2", _PLUS))
    add("apertus", "ApertusForCausalLM", ("0.5.3", _PLUS))
    add("glm4_moe", "Glm4MoeForCausalLM", ("0.5.5", _PLUS))
    add("longcat_flash", "LongcatFlashForCausalLM", ("0.5.6", _PLUS))
    add("minimax_m2", "MiniMaxM2ForCausalLM", ("0.5.6", _PLUS))
    add("bailing_moe", "BailingMoEForCausalLM BailingMoeForCausalLM BailingMoeV2ForCausalLM", ("0.5.9", _PLUS))
    add("bailing_moe", "SarvamMoEForCausalLM", ("0.5.10", _PLUS))
    add("exaone_moe", "ExaoneMoEForCausalLM", ("0.5.9", _PLUS))
    add("exaone_moe", "ExaoneMoeForCausalLM", ("0.5.22", _PLUS))
    add("qwen3_next", "Qwen3NextForCausalLM", ("0.5.9", _MARKS))
    add("qwen3_vl", "Qwen3VLForConditionalGeneration Qwen3VLMoeForConditionalGeneration", ("0.5.11", _PLUS))
    add("qwen3_vl", "Qwen3_5ForConditionalGeneration Qwen3_5MoeForConditionalGeneration", ("0.5.22", _MARKS))
    add("gemma3_causal", "Gemma3ForCausalLM Gemma3ForConditionalGeneration", ("0.5.12", _LAST))
    add("gemma4_causal", "Gemma4ForCausalLM", ("0.5.12", _LAST))
    add("gemma4_mm", "Gemma4ForConditionalGeneration", ("0.5.12", _LAST))
    add("minimax_m3", "MiniMaxM3SparseForCausalLM", ("0.5.16", _PLUS), ("0.5.19", _MARKS))
    add("minimax_m3_vl", "MiniMaxM3SparseForConditionalGeneration", ("0.5.19", Rule("plus-one", 1, marks=True)))
    add("glm5_next", "Glm5NextForConditionalGeneration", ("0.5.20", _PLUS))
    return found


_TARGETS = _all()
