"""What differs between two runs, and what a profile has declared."""

from __future__ import annotations

import dataclasses
import json

import pytest

from console.probe.differences import differs, flags_of
from console.probe.fingerprint import (
    Fingerprint,
    PatchRef,
    config_sha256,
    env_subset,
    is_secret_name,
    masked_argv,
)
from tests.unit.probe.runs import ARGV, SPECULATIVE, fingerprint

KNOWN = {
    "model_sha256": "m",
    "draft_sha256": "d",
    "clocks_max_mhz": (1980,) * 8,
    "clocks_app_mhz": (1980,) * 8,
}


def keys(found):
    return [difference.key for difference in found]


def test_a_run_does_not_differ_from_itself():
    assert differs(fingerprint(), fingerprint()) == ()


def test_speculative_covers_its_flags_and_the_draft():
    found = differs(fingerprint(), fingerprint(argv=SPECULATIVE), ["speculative"])
    assert keys(found) == ["speculative_algorithm", "speculative_draft_model_path", "speculative_num_steps"]
    assert all(difference.declared for difference in found)
    assert found[1].a is None
    assert found[1].b == "/models/draft"


def test_a_profile_key_is_its_flag():
    """A sweep over `speculative.num_steps` whose baseline is the profile itself declares that key alone."""
    other = list(SPECULATIVE)
    other[other.index("--speculative-num-steps") + 1] = "9"
    (found,) = differs(fingerprint(argv=SPECULATIVE), fingerprint(argv=tuple(other)), ["speculative.num_steps"])
    assert (found.key, found.declared) == ("speculative_num_steps", True)


def test_nothing_is_declared_by_itself():
    found = differs(fingerprint(), fingerprint(argv=SPECULATIVE))
    assert not any(difference.declared for difference in found)
    assert all(difference.withholds for difference in found)


@pytest.mark.parametrize(
    ("change", "key", "varies"),
    [
        ({"argv": (*ARGV, "--disable-cuda-graph")}, "disable_cuda_graph", "disable_cuda_graph"),
        ({"argv": (*ARGV, "--disable-cuda-graph")}, "disable_cuda_graph", "--disable-cuda-graph"),
        ({"env": {"NCCL_PROTO": "LL128"}}, "env.NCCL_PROTO", "env.NCCL"),
        ({"env": {"NCCL_PROTO": "LL128"}}, "env.NCCL_PROTO", "env.NCCL_"),
        ({"env": {"NCCL_PROTO": "LL128"}}, "env.NCCL_PROTO", "env"),
        ({"patches": (PatchRef("eagle3-shapes", "ab"),)}, "patches.eagle3-shapes", "patches"),
        ({"sglang_version": "0.5.12"}, "sglang.version", "sglang"),
        ({"git_head": "b" * 40}, "tree.git_head", "tree"),
        ({"git_dirty": True}, "tree.git_dirty", "patches"),
        ({"tree_edits": "1 files 1a2b3c4d5e6f"}, "tree.edits", "tree.edits"),
        ({"power_limits_w": (700.0,) * 7 + (500.0,)}, "gpu.power_limits_w", "gpu.power_limits_w"),
        ({"power_limits_w": (700.0,) * 7 + (None,)}, "gpu.power_limits_w", "gpu"),
        ({"driver": None}, "gpu.driver", "gpu.driver"),
        ({"machine_id": "m2"}, "machine_id", "machine_id"),
        ({"model_sha256": "aa"}, "model.config_sha256", "model"),
        ({"draft_sha256": "aa"}, "draft.config_sha256", "speculative"),
        ({"clocks_app_mhz": (1980,) * 7 + (1200,)}, "gpu.clocks_app_mhz", "gpu"),
        ({"clocks_max_mhz": (1980,) * 7 + (None,)}, "gpu.clocks_max_mhz", "gpu"),
    ],
)
def test_each_part_is_compared_and_can_be_declared(change, key, varies):
    before = fingerprint(**KNOWN)
    (alone,) = differs(before, dataclasses.replace(before, **change))
    assert (alone.key, alone.declared, alone.withholds) == (key, False, True)
    (declared,) = differs(before, dataclasses.replace(before, **change), [varies])
    assert (declared.declared, declared.withholds) == (True, False)


def test_a_run_of_which_hand_edits_are_not_known_differs_in_nothing_from_a_clean_one():
    assert differs(fingerprint(tree_edits=None), fingerprint(tree_edits="")) == ()
    assert differs(fingerprint(tree_edits="1 files aa"), fingerprint(tree_edits="1 files bb"), ["patches"])[0].withholds


@pytest.mark.parametrize(
    "unknown", [{}, {**KNOWN, "clocks_app_mhz": (None,) * 8, "clocks_max_mhz": (), "model_sha256": None}]
)
def test_hashes_and_clocks_that_one_side_does_not_know_differ_in_nothing(unknown):
    both = differs(fingerprint(**unknown), fingerprint(**KNOWN))
    assert both == ()


def test_a_config_hash_does_not_depend_on_how_the_file_is_written():
    assert config_sha256({"a": 1, "b": [2]}) == config_sha256(json.loads('{"b":[2],\n "a":1}'))
    assert config_sha256({"a": 1}) != config_sha256({"a": 2})
    assert config_sha256({}) is None


def test_a_word_covers_whole_words_only():
    found = differs(fingerprint(), fingerprint(argv=(*ARGV, "--disable-cuda-graph")), ["dis", "disable_cuda_g"])
    assert not found[0].declared


def test_patches_imply_their_switch():
    found = differs(fingerprint(), fingerprint(env={"NCCL_PROTO": "LL", "EAGLE3_DEBUG": "1"}), ["patches"])
    assert keys(found) == ["env.EAGLE3_DEBUG"]
    assert found[0].declared


def test_a_simulated_run_is_never_declared():
    (found,) = differs(fingerprint(), fingerprint(simulated=True), ["simulated"])
    assert found.withholds


def test_ports_and_names_are_listed_but_withhold_nothing():
    other = fingerprint(argv=(*ARGV[:-1], "8001", "--host", "0.0.0.0"), hostname="c0ffee")
    found = differs(fingerprint(), other)
    assert keys(found) == ["host", "hostname", "port"]
    assert not any(difference.withholds for difference in found)


def test_flags_are_read_in_both_forms():
    flags = flags_of(["/opt/bin/python", "-m", "x", "--tp-size=8", "--bs", "1", "-2", "--flag", "--tp-size", "4"])
    assert flags == {"program": "/opt/bin/python -m x", "tp_size": "8 4", "bs": "1 -2", "flag": "true"}


def test_only_variables_that_matter_are_kept_and_secrets_are_masked():
    env = {
        "HOME": "/x",
        "AWS_SECRET_ACCESS_KEY": "s",
        "SGLANG_API_KEY": "s",
        "SGLANG_X": "1",
        "CUDA_VISIBLE_DEVICES": "0",
    }
    assert Fingerprint(env=env).env == {"SGLANG_API_KEY": "***", "SGLANG_X": "1", "CUDA_VISIBLE_DEVICES": "0"}
    assert env_subset({"SGLANG_TICKET": "s"}, ["SGLANG_TICKET"]) == {"SGLANG_TICKET": "***"}


def test_secrets_of_a_command_never_enter():
    argv = [
        "x",
        "--api-key",
        "s1",
        "--admin-api-key=s2",
        "--hf-token",
        "s3",
        "--speculative-token-map",
        "m",
        "--api-key",
    ]
    kept = masked_argv(argv)
    assert kept == (
        *("x", "--api-key", "***", "--admin-api-key=***", "--hf-token", "***"),
        *("--speculative-token-map", "m", "--api-key"),
    )
    assert not {"s1", "s2", "s3"} & set(" ".join(Fingerprint(argv=tuple(argv)).argv).replace("=", " ").split())


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("--api-key", True),
        ("HF_TOKEN", True),
        ("password", True),
        ("--speculative-num-draft-tokens", False),
        ("--max-total-tokens", False),
        ("--tokenizer-path", False),
        ("max_new_tokens", False),
    ],
)
def test_which_names_hold_secrets(name, secret):
    assert is_secret_name(name) is secret


def test_a_fingerprint_survives_json():
    run = fingerprint(argv=SPECULATIVE, patches=(PatchRef("eagle3-shapes", "ab"),), power_limits_w=(700.0, None))
    data = json.loads(json.dumps(run.to_json()))
    assert Fingerprint.from_json(data) == run
    assert Fingerprint.from_json({**data, "added_later": 1}) == run
