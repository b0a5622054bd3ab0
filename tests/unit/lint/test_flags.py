"""Rules on flags: each finds its fault, says what to write instead, and is silent without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from console import lint
from console.actions.doctor import asked_of
from console.launch.asked import Asked, read
from console.launch.command import render
from console.launch.library import Library
from console.launch.loader import Inputs, resolve
from console.lint.context import Installed, Launch
from console.paths import shipped_profiles

if TYPE_CHECKING:
    from pathlib import Path

    from console.lint.finding import Finding

VARIABLES = {"python": "/v/bin/python", "models": "/m", "drafts": "/d", "logs": "/logs"}
GOOD = "--model-path /m --speculative-algorithm EAGLE3 --speculative-draft-model-path /d --max-running-requests 48"
CHAIN = "--speculative-num-steps 5 --speculative-eagle-topk 1 --speculative-num-draft-tokens 6"


def asked(line: str, **env: str) -> Asked:
    return read(line.split(), env)


def of(rule: str, launch: Launch) -> list[Finding]:
    return [finding for finding in lint.check(launch) if finding.rule == rule]


def told(rule: str, line: str, version: str | None = "0.5.20", **env: str) -> list[tuple[str, str, str]]:
    launch = Launch(asked(line, **env), version)
    return [(finding.severity, finding.message, finding.hint) for finding in of(rule, launch)]


@pytest.mark.parametrize("version", ["0.4.6.post1", "0.5.9", "0.5.12.post1", "0.5.20", "0.5.23", "0.5.99", None])
def test_a_good_launch_has_no_finding_in_any_release(version: str | None) -> None:
    assert lint.check(Launch(asked(f"{GOOD} {CHAIN}"), version)) == ()


def test_an_abbreviation_is_told_with_what_it_stands_for_and_an_ambiguous_one_with_all() -> None:
    assert told("flag-abbreviated", "--tp 8") == [("warn", "--tp is short for --tp-size", "Write --tp-size.")]
    (before,) = told("flag-abbreviated", "--speculative-draft /d", "0.5.1")
    assert before == (
        "warn",
        "--speculative-draft is short for --speculative-draft-model-path",
        "Write --speculative-draft-model-path.",
    )
    ((severity, message, hint),) = told("flag-abbreviated", "--speculative-draft /d", "0.5.2")
    assert severity == "error"
    assert "--speculative-draft-model, --speculative-draft-model-path, --speculative-draft-model-revision" in message
    assert hint == "Write --speculative-draft-model-path."
    assert told("flag-abbreviated", "--tp-size 8 --model /m --ep 2") == []


def test_the_installed_ones_own_help_is_believed_before_the_table() -> None:
    launch = Launch(asked("--tp 8 --own-flag"), "0.5.20", installed=Installed(frozenset({"tp", "own-flag"})))
    assert lint.check(launch) == ()
    without = Launch(asked("--tp 8 --own-flag"), "0.5.20", installed=Installed(frozenset({"tp-size"})))
    assert [(f.rule, f.severity) for f in lint.check(without)] == [
        ("flag-unknown", "error"),
        ("flag-abbreviated", "warn"),
    ]
    assert "--help" in lint.check(without)[0].evidence


def test_a_flag_that_is_gone_is_told_with_its_new_name_and_what_argparse_does() -> None:
    ((severity, message, hint),) = told("flag-removed", "--cuda-graph-max-bs 8")
    assert severity == "error"
    assert "--cuda-graph-max-bs-decode, --cuda-graph-max-bs-prefill" in message
    assert hint == "Write --cuda-graph-max-bs-decode."
    assert told("flag-removed", "--stream-output")[0][2] == "Write --incremental-streaming-output."
    assert told("flag-removed", "--enable-beta-spec")[0][2] == "Leave it out."
    assert told("flag-removed", "--cuda-graph-max-bs 8", "0.5.19") == []
    ((_, message, hint),) = told("flag-removed", "--enable-ep-moe", "0.5.4")
    assert "retired" in message
    assert "--ep-size" in hint


def test_a_release_between_two_that_differ_is_given_the_benefit_of_the_doubt() -> None:
    assert told("flag-removed", "--enable-beta-spec", "0.5.4.post3") == []
    assert told("flag-removed", "--enable-beta-spec", "0.5.5") != []


def test_underscores_vllms_flags_and_unknown_ones() -> None:
    assert told("flag-underscore", "--reasoning_parser x") == [
        ("error", "--reasoning_parser is not a flag: flags have hyphens", "Write --reasoning-parser.")
    ]
    assert told("flag-of-vllm", "--max-model-len 8 --max_num_seqs 4 --swap-space 3") == [
        ("error", "--max-model-len is vLLM's; the launch ends (2)", "Here: --context-length."),
        ("error", "--max_num_seqs is vLLM's; the launch ends (2)", "Here: --max-running-requests."),
        ("error", "--swap-space is vLLM's; the launch ends (2)", "There is no such flag here: leave it out."),
    ]
    assert told("flag-unknown", "--modle-path /m") == [
        ("error", "--modle-path is not a flag that is known here", "Nearest: --model-path.")
    ]
    assert told("flag-unknown", "--modle-path /m", None)[0][0] == "warn"
    assert told("flag-unknown", "--debug-cuda-graph", "0.5.10")[0][1] == "--debug-cuda-graph came after this release"
    for rule in ("flag-underscore", "flag-of-vllm", "flag-unknown"):
        assert told(rule, GOOD) == []


def test_what_has_no_effect_is_said() -> None:
    assert told("flag-no-effect", "--num-continuous-decode-steps 4")[0][:2] == (
        "info",
        "--num-continuous-decode-steps 4 has no effect",
    )
    assert len(told("flag-no-effect", f"{GOOD} --speculative-token-map /t")) == 1
    assert told("flag-no-effect", "--speculative-algorithm EAGLE --speculative-token-map /t") == []


def test_the_draft_tokens_that_sglang_will_use() -> None:
    line = f"{GOOD} --speculative-num-steps 5 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4"
    assert told("draft-tokens-adjusted", line) == [
        (
            "warn",
            "--speculative-num-draft-tokens 4 becomes 6: with topk 1 it is steps + 1 (5 + 1)",
            "Write 6, or --speculative-num-steps 3.",
        )
    ]
    assert told("draft-tokens-adjusted", line.replace("topk 1", "topk 4")) == []
    assert told("draft-tokens-adjusted", f"{GOOD} {CHAIN}") == []


def test_some_of_the_three_speculative_numbers() -> None:
    rule = "speculative-steps-incomplete"
    assert told(rule, f"{GOOD} --speculative-eagle-topk 1 --speculative-num-draft-tokens 4")[0][0] == "error"
    assert "None" in told(rule, f"{GOOD} --speculative-num-steps 3")[0][1]
    assert told(rule, f"{GOOD} --speculative-num-steps 3", "0.5.1") == []
    assert told(rule, f"{GOOD} --speculative-num-steps 3 --speculative-eagle-topk 1") == []
    assert told(rule, GOOD) == []
    assert told(rule, f"{GOOD} --speculative-adaptive --speculative-eagle-topk 1") == []


@pytest.mark.parametrize(
    ("version", "env", "more", "severity"),
    [
        ("0.5.9", "1", "", "error"),
        ("0.5.5", "true", "", "error"),
        (None, "1", "", "error"),
        ("0.5.9", "0", "", None),
        ("0.5.4", "", "--enable-beta-spec", "error"),
        ("0.5.12.post1", "1", "", "info"),
        ("0.5.12.post1", "", "--disable-overlap-schedule", None),
        ("0.5.13", "1", "", None),
        ("0.5.20", "1", "", None),
    ],
)
def test_trees_and_the_worker_that_takes_chains(version, env, more, severity) -> None:
    line = f"{GOOD} --speculative-num-steps 5 --speculative-eagle-topk 4 --speculative-num-draft-tokens 8 {more}"
    found = told("topk-needs-v1", line, version, SGLANG_ENABLE_SPEC_V2=env)
    assert [each[0] for each in found] == ([severity] if severity else [])
    assert told("topk-needs-v1", f"{GOOD} {CHAIN} {more}", version, SGLANG_ENABLE_SPEC_V2=env) == []


def test_speculation_without_a_draft() -> None:
    assert told("draft-missing", "--speculative-algorithm eagle3")[0][0] == "error"
    assert told("draft-missing", "--speculative-algo EAGLE3")[0][0] == "error", "an abbreviated flag counts"
    assert told("draft-missing", "--speculative-algorithm EAGLE3 --speculative-draft-model /d") == []
    assert told("draft-missing", "--speculative-algorithm NEXTN") == []


def test_an_algorithm_of_another_release() -> None:
    rule = "algorithm-unknown"
    assert told(rule, "--speculative-algorithm DFLASH", "0.5.10")[0][0] == "error"
    assert told(rule, "--speculative-algorithm DFLASH", "0.5.11") == []
    assert told(rule, "--speculative-algorithm NGRAM", "0.5.2.post1") == [], "between two that differ"
    assert told(rule, "--speculative-algorithm eagle3", "0.5.11")[0][2] == "Write EAGLE3."
    assert told(rule, "--speculative-algorithm eagle3", "0.5.12") == []
    assert told(rule, "--speculative-algorithm MINE", "0.5.11")[0][0] == "error"
    assert told(rule, "--speculative-algorithm MINE", "0.5.20")[0][0] == "warn"


def test_more_requests_than_graphs_hold() -> None:
    rule = "graph-bs-below-concurrency"
    for line in ("--cuda-graph-max-bs-decode 2", "--cuda-graph-bs-decode 1 2", "--cuda-graph-max-bs 2"):
        assert [f.severity for f in of(rule, Launch(asked(line), "0.5.17", concurrency=8))] == ["warn"]
        assert of(rule, Launch(asked(line), "0.5.17", concurrency=2)) == []
        assert of(rule, Launch(asked(line), "0.5.17")) == []
    profile = resolve("kimi-k2.5-eagle3", LIBRARY, Inputs(VARIABLES, {}, ["probe.concurrency=8"])).profile
    assert len(of(rule, Launch(asked("--cuda-graph-max-bs 2"), "0.5.17", profile=profile))) == 1


def test_simulated_acceptance() -> None:
    for name in ("SGLANG_SIMULATE_ACC_LEN", "SIMULATE_ACC_LEN"):
        assert told("simulate-acc-len", GOOD, **{name: "3"})[0][0] == "error"
        for off in ("-1", "0", "0.0", ""):
            assert told("simulate-acc-len", GOOD, **{name: off}) == []


def test_an_open_host_without_a_key() -> None:
    rule = "open-host-without-key"
    assert [each[0] for each in told(rule, "--host 0.0.0.0")] == ["warn"]
    assert [each[0] for each in told(rule, "--host ::")] == ["warn"]
    for line in (GOOD, "--host 127.0.0.1", "--host localhost", "--host 0.0.0.0 --api-key x", "--host :: --config c"):
        assert told(rule, line) == []
    inputs = Inputs(VARIABLES, {"K": "k"}, ["api_key=${K}"])
    profile = resolve("kimi-k2.5-eagle3", LIBRARY, inputs).profile
    assert of(rule, Launch(asked("--host 0.0.0.0"), "0.5.20", profile=profile)) == []


def test_the_limit_of_running_requests() -> None:
    rule, line = "max-running-requests-unset", GOOD.replace("--max-running-requests 48", "")
    assert [each[0] for each in told(rule, line)] == ["info"]
    assert told(rule, GOOD) == told(rule, "--model-path /m") == []
    for limit, severities in (
        ("", ["warn"]),
        ("--max-running-requests 64", ["warn"]),
        ("--max-running-requests 48", []),
    ):
        launch = Launch(asked(line), "0.5.20", baseline=asked(f"--model-path /m {limit}"))
        assert [f.severity for f in of(rule, launch)] == severities


def test_a_baseline_is_fair_when_speculation_alone_differs() -> None:
    rule = "baseline-unfair"
    fair = asked("--model /m --max-running-requests 48 --port 1")
    assert of(rule, Launch(asked(f"{GOOD} {CHAIN}"), "0.5.20", baseline=fair)) == []
    other = asked("--model-path /m --max-running-requests 64 --disable-cuda-graph", NCCL_PROTO="LL")
    (finding,) = of(rule, Launch(asked(GOOD), "0.5.20", baseline=other))
    assert finding.severity == "warn"
    assert finding.message == (
        "the baseline differs in --disable-cuda-graph (not set here, set there); "
        "--max-running-requests (48 here, 64 there); env.NCCL_PROTO"
    )


def test_a_baseline_with_the_overlap_scheduler_is_another_engine_where_speculation_turns_it_off() -> None:
    fair = asked("--model-path /m --max-running-requests 48")
    (finding,) = of("baseline-unfair", Launch(asked(GOOD), "0.5.9", baseline=fair))
    assert (finding.severity, "overlap" in finding.message) == ("info", True)
    assert of("baseline-unfair", Launch(asked(GOOD), "0.5.12.post1", baseline=fair)) == []


def test_a_secret_in_a_profile(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(
        "model_path: /m\nlog_path: /l\npython: /p\nenv: {HF_TOKEN: abc, A: hf_0123456789abcdefghij, OK: '1'}\n"
        "args: {chat-template: sk-0123456789abcdefghij}\n"
    )
    profile = resolve("p", Library((tmp_path,))).profile
    found = of("secret-in-profile", Launch(Asked(), profile=profile))
    assert [(f.severity, f.message.split()[0]) for f in found] == [
        ("error", "the"),
        ("warn", "env.HF_TOKEN"),
        ("warn", "env.A"),
    ]
    assert "abc" not in str(found)
    assert "0123456789" not in str(found)


LIBRARY = Library((shipped_profiles(),))
EXPECTED = {
    "kimi-k2.5-baseline": {"flag-no-effect", "open-host-without-key"},
    "kimi-k2.5-eagle3": {"flag-no-effect", "open-host-without-key"},
    "kimi-k2.5-eagle3-tuned": {"flag-no-effect", "open-host-without-key"},
    "kimi-k2.5-eagle3-debug": {"flag-no-effect", "open-host-without-key", "baseline-unfair"},
}
"""What is true of the story's launches. The debug one is no measurement, and its difference is an info."""


@pytest.mark.parametrize("version", ["0.5.12.post1", "0.5.20"])
@pytest.mark.parametrize("name", LIBRARY.names())
def test_the_shipped_profiles_have_no_finding_but_the_storys_own(name: str, version: str) -> None:
    resolved = resolve(name, LIBRARY, Inputs(VARIABLES, {}))
    profile = resolved.profile
    other = resolve(profile.baseline.profile, LIBRARY, Inputs(VARIABLES, {})) if profile.baseline else None
    baseline = asked_of(render(other)) if other else None
    found = lint.check(Launch(asked_of(render(resolved)), version, profile=profile, baseline=baseline))
    assert {finding.rule for finding in found} == EXPECTED.get(name, set())
    assert {f.rule for f in found if f.severity != "info"} <= {"open-host-without-key"}
