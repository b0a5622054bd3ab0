"""A profile's own flags, with the pair in the place of its models, and nothing left out in silence."""

from __future__ import annotations

import pytest

from console.calibration import wirings
from console.calibration.flags import flags_for, log_path
from console.calibration.pair import PairSpec
from console.calibration.wirings import Wired
from console.errors import UsageError
from console.launch.command import render
from console.launch.library import Library
from console.launch.loader import Inputs, resolve
from console.paths import shipped_profiles

SPEC = PairSpec("deepseek_v2")
WIRED = Wired("trained", (3, 4, 7), outputs=(2, 3, 6))
VARIABLES = {"python": "/v/python", "models": "/models", "drafts": "/drafts", "logs": "/logs"}


def launched(name: str = "kimi-k2.5-eagle3", *sets: str, wired: Wired = WIRED):
    """Words of the command, and what was left out."""
    library = Library((shipped_profiles(),))
    own = resolve(name, library, Inputs(VARIABLES, {}, sets))
    flags = flags_for(own.profile, "/state/pairs/p", SPEC, wired)
    return render(resolve(name, library, Inputs(VARIABLES, {}, (*sets, *flags.sets)))), flags


def value(argv, flag):
    return argv[argv.index(flag) + 1]


def test_the_pair_takes_the_place_of_the_models_and_the_rest_stays():
    command, flags = launched()
    assert value(command.argv, "--model-path") == "/state/pairs/p/target"
    assert value(command.argv, "--speculative-draft-model-path") == "/state/pairs/p/draft-3_4_7"
    assert value(command.argv, "--tp-size") == "8"
    assert value(command.argv, "--speculative-num-draft-tokens") == "6"
    assert "--disable-custom-all-reduce" in command.argv
    assert command.env["SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"] == "1"
    assert command.log_path == "/logs/sglang_eagle3.calibrate.log"
    assert flags.dropped == ("trust_remote_code: the pair has no code",)
    assert "--trust-remote-code" not in command.argv


def test_what_a_tiny_pair_cannot_take_is_dropped_and_said():
    args = ("args.tool-call-parser=kimi_k2", "args.moe-runner-backend=marlin", "args.dist-timeout=60")
    sets = ("quantization=fp8", "context_length=131072", "ep_size=8", "speculative.draft_model_quantization=fp8", *args)
    command, flags = launched("kimi-k2.5-eagle3", *sets)
    words = " ".join(command.argv)
    for gone in ("quantization", "context-length", "ep-size", "tool-call-parser", "moe-runner-backend"):
        assert f"--{gone}" not in words
        assert any(gone in each.replace("_", "-") for each in flags.dropped)
    assert value(command.argv, "--dist-timeout") == "60"


def test_a_tree_becomes_a_chain_and_that_is_said():
    command, flags = launched("kimi-k2.5-eagle3", "speculative.eagle_topk=4", "speculative.num_draft_tokens=16")
    assert value(command.argv, "--speculative-eagle-topk") == "1"
    assert value(command.argv, "--speculative-num-draft-tokens") == "6"
    assert any("eagle_topk 4" in each for each in flags.dropped)


def test_a_profile_without_speculation_gets_it():
    command, flags = launched("kimi-k2.5-baseline")
    assert value(command.argv, "--speculative-algorithm") == "EAGLE3"
    assert value(command.argv, "--speculative-num-steps") == str(flags.steps) == "5"


def test_the_flag_of_eagle():
    command, _ = launched(wired=Wired("eagle_flag", (3, 4, 7), algorithm="EAGLE"))
    assert value(command.argv, "--speculative-algorithm") == "EAGLE"


def test_the_profiles_own_flag_is_kept_for_it_may_be_the_fault():
    command, flags = launched("kimi-k2.5-eagle3", "speculative.algorithm=EAGLE")
    assert value(command.argv, "--speculative-algorithm") == flags.algorithm == "EAGLE"
    command, flags = launched("kimi-k2.5-eagle3", "speculative.algorithm=NGRAM")
    assert value(command.argv, "--speculative-algorithm") == "EAGLE3"
    assert any("NGRAM" in each for each in flags.dropped)


@pytest.mark.parametrize("sets", [("nnodes=2",), ("tp_size=16",), ("tp_size=3",)])
def test_what_cannot_be_is_refused_before_anything_is_written(sets):
    with pytest.raises(UsageError):
        launched("kimi-k2.5-eagle3", *sets)


def test_a_log_of_its_own():
    assert log_path("/logs/a.b.log") == "/logs/a.b.calibrate.log"
    assert log_path("/logs/plain") == "/logs/plain.calibrate"


def test_every_wiring_is_told():
    for name in wirings.NAMES:
        assert name.replace("_", " ") in Wired(name, (1, 2, 3)).told
