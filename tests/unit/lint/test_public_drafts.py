"""Public EAGLE-3 drafts pass or fail in each release as their cards, threads and SGLang's sources say."""

from __future__ import annotations

import pytest

from console import lint
from console.actions import doctor, read_checkpoint
from console.launch import asked
from console.wiring import reading
from tests import drafts

CONTEXT = ("draft-context", "error")
UNKNOWN = ("layer-outputs", "warn")
OLD = ("tensor-names-need-release", "error")
EXPECTED = {
    # ids that mean the same in every release: SpecForge's [1, n // 2 - 1, n - 4]
    ("specforge-deepseek-v3", "0.5.9"): {("draft-dtype", "warn")},
    ("specforge-deepseek-v3", "0.5.12.post1"): {("draft-dtype", "warn")},
    ("specforge-deepseek-v3", "0.5.23"): {("draft-dtype", "warn")},
    ("specforge-qwen3-235b", "0.5.2"): set(),
    ("specforge-qwen3-235b", "0.5.23"): set(),
    ("specforge-gpt-oss-20b", "0.5.23"): {CONTEXT},
    ("specforge-llama3-8b", "0.5.2"): set(),
    ("specforge-llama3-8b", "0.5.23"): set(),
    ("torchspec-kimi-k25", "0.5.10"): set(),
    ("torchspec-kimi-k25", "0.5.23"): set(),
    # norms that older releases drop
    ("specforge-qwen3-30b-eagle3.1", "0.5.11"): {OLD, CONTEXT},
    ("specforge-qwen3-30b-eagle3.1", "0.5.12"): {CONTEXT},
    # [2, 30, 58]: which layers it was trained on, the config does not say; and graphs of old releases
    ("lightseekorg-kimi-k2.5-eagle3", "0.5.10"): {UNKNOWN, ("graph-captures-differ", "error"), CONTEXT},
    ("lightseekorg-kimi-k2.5-eagle3", "0.5.12.post1"): {UNKNOWN, CONTEXT},
    ("lightseekorg-kimi-k2.5-eagle3", "0.5.13"): {UNKNOWN, CONTEXT},
    ("lightseekorg-kimi-k2.5-eagle3-mla", "0.5.11"): {UNKNOWN, OLD},
    ("lightseekorg-kimi-k2.5-eagle3-mla", "0.5.13"): {UNKNOWN},
    # names and classes that need 0.5.12; the target's wrapper needs 0.5.10
    ("nvidia-kimi-k2.5-thinking-eagle3", "0.5.9"): {OLD, ("target-without-hook", "error")},
    ("nvidia-kimi-k2.5-thinking-eagle3", "0.5.11"): {OLD},
    ("nvidia-kimi-k2.5-thinking-eagle3", "0.5.12"): set(),
    # 36 of 36 layers
    ("nvidia-gpt-oss-120b-eagle3-v3", "0.5.16"): {("ids-out-of-range", "error")},
    ("nvidia-gpt-oss-120b-eagle3-v3", "0.5.23"): set(),
    # another width, 2048 tokens
    ("yuhuili-eagle3-llama3.3-70b", "0.5.20"): {CONTEXT},
    ("speculators-qwen3-8b", "0.5.20"): {("ids-ignored", "warn")},
}
WORDS = (
    *("--speculative-algorithm", "EAGLE3", "--speculative-draft-model-path", "d", "--speculative-num-steps", "3"),
    *("--speculative-eagle-topk", "1", "--speculative-num-draft-tokens", "4", "--max-running-requests", "48"),
)


def examine(tmp_path, name, version, env=None):
    drafts.load(name).write(tmp_path)
    files = doctor.Files(
        read_checkpoint.from_files(reading.target(str(tmp_path / "target"))),
        read_checkpoint.from_files(reading.draft(str(tmp_path / "draft"))),
    )
    assert files.draft is not None
    assert files.draft.problem == ""
    return lint.check(doctor.gather(asked.read(WORDS, env), version, files))


@pytest.mark.parametrize(("name", "version"), EXPECTED, ids="-".join)
def test_a_public_draft(tmp_path, name, version):
    found = examine(tmp_path, name, version)
    assert {(each.rule, each.severity) for each in found if each.severity != "info"} == EXPECTED[name, version]


def test_each_public_draft_is_expected_somewhere():
    assert {name for name, _ in EXPECTED} == set(drafts.names())
    assert len(drafts.names()) >= 8
