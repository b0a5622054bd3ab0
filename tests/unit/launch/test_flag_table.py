"""The table of flags by release, held against sglang.md 3.1, and how a word is read by it."""

from __future__ import annotations

import pytest

from console.launch import flag_table, flags
from console.launch.asked import read
from console.launch.flag_reading import OF_VLLM, meant, readings
from console.launch.releases import READ, around, is_within
from console.launch.speculation import draft_tokens, overlaps, worker

SINCE = {
    "speculative-draft-model": "0.5.2",
    "speculative-draft-load-format": "0.5.4",
    "speculative-draft-attention-backend": "0.5.7",
    "enable-multi-layer-eagle": "0.5.7",
    "debug-cuda-graph": "0.5.11",
    "cuda-graph-max-bs-decode": "0.5.14",
    "skip-server-warmup": "0.4.10",
    "config": "0.5.3",
    "forward-hooks": "0.5.6",
    "admin-api-key": "0.5.8",
    "return-aux-hidden-state-layer-ids": "0.5.23",
}
UNTIL = {"cuda-graph-max-bs": "0.5.19", "stream-output": "0.5.19", "enable-nan-detection": "0.5.12.post1"}
ALWAYS = ("speculative-algorithm", "disable-cuda-graph", "num-continuous-decode-steps", "tp-size", "api-key", "nnodes")


def test_first_and_last_releases_are_those_of_the_reference() -> None:
    for name, first in SINCE.items():
        assert flag_table.releases_of(name) == READ[READ.index(first) :], name
    for name, last in UNTIL.items():
        assert flag_table.releases_of(name) == READ[: READ.index(last) + 1], name
    for name in ALWAYS:
        assert flag_table.releases_of(name) == READ, name
    assert flag_table.releases_of("enable-beta-spec") == ("0.5.4",)
    assert flag_table.releases_of("speculative-draft") == flag_table.releases_of("speculative-algo") == ()


def test_how_many_words_follow() -> None:
    assert flag_table.kind_of("disable-cuda-graph") == "switch"
    assert flag_table.kind_of("cuda-graph-bs") == "list"
    assert flag_table.kind_of("tp-size") == "value"
    assert flag_table.kind_of("enable-ep-moe", "0.5.4") == "retired"
    assert flag_table.kind_of("enable-ep-moe", "0.5.2") == "switch"
    assert flag_table.kind_of("no-such-flag") is None


def test_every_key_of_a_profile_is_a_flag_of_the_newest_release_or_a_known_one() -> None:
    for name in flags.TYPED_FLAGS:
        assert flag_table.releases_of(name), name
    for alias, key in flags.ALIASES.items():
        dests = {row.dest for row in flag_table.rows(flags.flag_of(key))}
        assert dests & {row.dest for row in flag_table.rows(alias)}, alias


def test_every_second_name_of_a_key_is_known_as_one() -> None:
    """Else a profile could say the same thing twice, as a key and as a free flag."""
    for name in flags.TYPED_FLAGS:
        dests = {row.dest for row in flag_table.rows(name)}
        for other in flag_table.all_names() - {name, "help"}:
            if dests & {row.dest for row in flag_table.rows(other)}:
                assert other in flags.ALIASES or flags.key_for(other), f"--{other} sets what --{name} does"


def test_no_flag_of_vllm_is_one_here() -> None:
    assert not OF_VLLM.keys() & flag_table.all_names()
    assert {full for full in OF_VLLM.values() if full} <= flag_table.all_names()


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("0.5.9", ("0.5.9",)),
        ("0.5.12.post1+cu130", ("0.5.12.post1",)),
        ("0.5.18", ("0.5.17", "0.5.19")),
        ("0.4.0", ()),
        ("0.6.0", ()),
        ("0.5.2rc2", ()),
        ("main", ()),
        (None, ()),
    ],
)
def test_a_version_is_a_read_release_or_between_two(version: str | None, expected: tuple[str, ...]) -> None:
    assert around(version) == expected


def test_within() -> None:
    assert is_within("0.5.12.post1", "0.5.11", "0.5.12.post1")
    assert is_within("0.5.13", last="0.5.12.post1") is False
    assert is_within("dev", "0.5.1") is None


def standing(line: str, version: str | None) -> list[tuple[str, str, str]]:
    return [(each.flag, each.standing, each.full) for each in readings(read(line.split()), version)]


def test_a_word_is_read_as_the_release_would() -> None:
    assert standing("--speculative-draft x --tp 8", "0.5.1") == [
        ("speculative-draft", "abbreviation", "speculative-draft-model-path"),
        ("tp", "abbreviation", "tp-size"),
    ]
    assert standing("--speculative-draft x", "0.5.2") == [
        ("speculative-draft", "ambiguous", "speculative-draft-model-path")
    ]
    assert standing("--cuda-graph-max-bs 2 --debug-cuda-graph", "0.5.10") == [
        ("cuda-graph-max-bs", "declared", "cuda-graph-max-bs"),
        ("debug-cuda-graph", "later", ""),
    ]
    assert standing("--cuda-graph-max-bs 2", "0.5.99")[0][1:] == ("removed", "cuda-graph-max-bs-decode")


def test_a_version_that_is_not_known_takes_what_any_release_takes() -> None:
    assert [each[1] for each in standing("--cuda-graph-max-bs 2 --debug-cuda-graph --tp 8", None)] == [
        "declared",
        "declared",
        "abbreviation",
    ]


def test_rules_on_values_see_full_names() -> None:
    asked = meant(read(["--speculative-algo", "eagle3", "--tp_size", "8", "--speculative-model", "/x"]), "0.5.20")
    assert asked.algorithm == "EAGLE3"
    assert asked.number("tp-size") == 8
    assert asked.value("speculative-draft-model-path") is None, "another engine's flag is not ours"


EAGLE3 = "--speculative-algorithm EAGLE3 --speculative-num-steps 5 --speculative-eagle-topk"


@pytest.mark.parametrize(
    ("version", "line", "env", "expected"),
    [
        ("0.5.3", "1", {}, ("v1", False)),
        ("0.5.4", "1 --enable-beta-spec", {}, ("v2", True)),
        ("0.5.9", "1", {}, ("v1", False)),
        ("0.5.9", "1", {"SGLANG_ENABLE_SPEC_V2": "1"}, ("v2", True)),
        ("0.5.12", "1", {}, ("v2", True)),
        ("0.5.12", "4", {}, ("v1", False)),
        ("0.5.12", "1", {"SGLANG_ENABLE_SPEC_V2": "false"}, ("v1", False)),
        ("0.5.13", "4", {"SGLANG_ENABLE_SPEC_V2": "0"}, ("v2", True)),
        ("0.5.20", "1 --disable-overlap-schedule", {}, ("v2", False)),
        (None, "1", {}, (None, None)),
    ],
)
def test_the_worker_and_the_scheduler_by_release(version, line, env, expected) -> None:
    asked = read(f"{EAGLE3} {line}".split(), env)
    assert (worker(asked, version), overlaps(asked, version)) == expected


def test_draft_tokens_are_steps_and_one_for_a_chain() -> None:
    assert draft_tokens(read(f"{EAGLE3} 1 --speculative-num-draft-tokens 4".split())) == 6
    assert draft_tokens(read(f"{EAGLE3} 4 --speculative-num-draft-tokens 8".split())) == 8
    assert draft_tokens(read(["--model-path", "/m"])) is None
