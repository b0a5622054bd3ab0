"""Rules over logs, where the field's cases do not reach: what was survived, what the launch adds, what is hostile."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import time
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console import lint
from console.actions.explain_log import explain, of_history
from console.errors import UsageError
from console.launch.asked import read as read_asked
from console.lint.context import Launch, LogContext
from console.logs.history import LogHistory
from console.patches import library
from console.wiring.checkpoint import Checkpoint
from tests.cli import PROGRAM
from tests.examples import examples
from tests.unit.logs.samples import DATA, KINDS, kind_samples, told

if TYPE_CHECKING:
    from pathlib import Path

    from console.patches.library import Patch

READY = "[2026-01-05 10:00:00] The server is fired up and ready to roll!\n"
CRASH = "[2026-01-05 10:00:01 TP1] Scheduler hit an exception: Traceback (most recent call last):\n"
MATMUL = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (6x28672 and 21504x7168)\n"
EAGLE3 = {"speculative_algorithm": "EAGLE3", "speculative_num_steps": 5, "speculative_num_draft_tokens": 6}


def decode(length: float = 3.0, rate: float = 0.4, graph: bool = True) -> str:
    return (
        f"[2026-01-05 10:00:00 TP0] Decode batch, #running-req: 1, #token: 9, accept len: {length:.2f}, "
        f"accept rate: {rate:.2f}, cuda graph: {graph}, gen throughput (token/s): 50.00, #queue-req: 0\n"
    )


def server_args(**values: object) -> str:
    return "[2026-01-05 09:00:00] server_args=" + json.dumps(values).replace('"', "'").replace("null", "None") + "\n"


def loaded(model: str, rank: int = 0) -> str:
    return f"[2026-01-05 09:01:00 TP{rank}] Load weight end. type={model}, dtype=torch.bfloat16, avail mem=9.00 GB\n"


def found(text: str, launch: Launch | None = None) -> list[tuple[str, str]]:
    return [(each.rule, each.severity) for each in lint.explain(LogContext.of(told(text), launch))]


def message(text: str, launch: Launch | None = None) -> str:
    return lint.explain(LogContext.of(told(text), launch))[0].message


def hint_of(text: str) -> str:
    return lint.explain(LogContext.of(told(text)))[0].hint


@pytest.mark.parametrize("patch", library.patches().values(), ids=lambda patch: patch.id)
def test_a_patch_that_waits_under_capture_is_called_as_one_takes_it_back(patch: Patch) -> None:
    log, stem = (DATA / "h200" / "tp2-sync-in-capture.log").read_text(), "_spec_console_user_sync_in_forward"
    name = patch.helper.path.rpartition("/")[2]
    assert f"the patch {patch.id}: " in hint_of(log.replace(f"{stem}.py", name))
    assert "the patch sync-in-forward: " in hint_of(log)
    assert hint_of(log.replace(stem, "_spec_console_of_long_ago")).startswith("Let that code")


def test_what_a_server_survived_is_no_finding():
    assert found(CRASH + MATMUL) == [("captures-mismatch", "error")]
    survived = "Traceback (most recent call last):\n" + MATMUL
    assert found(READY + survived + decode()) == []


def test_the_first_cause_stands_above_what_followed_from_it():
    text = CRASH + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has\n"
    text += "[2026-01-05 10:00:02 TP0] Scheduler hit an exception: Traceback (most recent call last):\n"
    text += "RuntimeError: [/pytorch/gloo/pair.cc:538] Read error [127.0.0.1]:45744: Connection reset by peer\n"
    text += (
        "[rank0]:[E222 08:31:45.11 ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective operation timeout: x\n"
    )
    text += "[2026-01-05 10:10:02 TP0] Watchdog timeout (self.watchdog_timeout=300)\n"
    assert found(text) == [("gpu-out-of-memory", "error")]


def test_a_file_with_two_launches_is_explained_by_the_last():
    first = server_args(speculative_algorithm="EAGLE") + loaded("LlamaForCausalLM") + loaded("LlamaForCausalLMEagle3")
    first += READY + decode(1.0, 0.0) * 5 + "[2026-01-05 10:00:09] SIGTERM received. signum=15\n"
    assert ("algorithm-for-eagle3", "error") in found(first)
    second = (
        server_args(**EAGLE3) + loaded("LlamaForCausalLM") + loaded("LlamaForCausalLMEagle3") + READY + decode() * 5
    )
    assert found(first + second) == []
    adjusted = "[2026-01-05 09:00:00] speculative_num_draft_tokens is adjusted to speculative_num_steps + 1\n"
    assert found(first + adjusted + second) == [("draft-tokens-adjusted", "warn")]


def test_the_eagle_flag_is_told_before_the_first_request():
    text = server_args(speculative_algorithm="EAGLE") + loaded("LlamaForCausalLM") + loaded("LlamaForCausalLMEagle3")
    assert found(text) == [("algorithm-for-eagle3", "error")]
    assert "LlamaForCausalLMEagle3 is run as EAGLE" in message(text)
    assert found(text.replace("'EAGLE'", "'EAGLE3'")) == []


def test_hardly_accepting_is_a_warning_and_accepting_is_nothing():
    assert found(decode(1.14, 0.03) * 3) == [("no-draft-token-accepted", "warn")]
    assert found(decode(1.14, 0.03) * 2) == []
    assert found(decode(2.8, 0.36) * 3) == []
    assert found(decode(1.0, 0.0) * 2) == [("no-draft-token-accepted", "warn")]


def test_a_second_model_of_the_same_class_is_meant_under_standalone():
    twice = loaded("Qwen2ForCausalLM") * 2
    assert found(server_args(speculative_algorithm="EAGLE3") + twice) == [("draft-missing", "error")]
    assert found(server_args(speculative_algorithm="STANDALONE") + twice) == []
    assert found(twice) == [("draft-missing", "warn")]
    assert found(loaded("Qwen2ForCausalLM", 0) + loaded("Qwen2ForCausalLM", 1)) == []


def test_configs_give_the_hidden_size_that_the_error_hides():
    shorter = CRASH + "RuntimeError: mat1 and mat2 shapes cannot be multiplied (6x32768 and 24576x2048)\n"
    assert "4 captures given, 3 wanted (hidden size 2048)" not in message(shorter)
    launch = Launch(
        read_asked([]),
        target=Checkpoint("/t", {"hidden_size": 8192, "num_hidden_layers": 80}),
        draft=Checkpoint("/d", {"hidden_size": 2048, "target_hidden_size": 8192}),
    )
    assert "4 captures given, 3 wanted (hidden size 8192)" in message(shorter, launch)


def test_every_layer_is_said_only_of_a_target_with_so_many():
    text = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (112x151552 and 12288x4096)\n"

    def hint(layers: int) -> str:
        target = Checkpoint("/t", {"hidden_size": 4096, "num_hidden_layers": layers})
        return lint.explain(LogContext.of(told(text), Launch(read_asked([]), target=target)))[0].hint

    assert "layers + 1" in hint(36)
    assert "layers + 1" not in hint(40)


def test_widths_of_the_shape_table_are_judged_by_the_configs():
    line = (
        "[EAGLE3_DEBUG] site=draft.fc_in rank=0 model=LlamaForCausalLMEagle3 mode=DRAFT_EXTEND_V2 seq=1 shape=(6,{})\n"
    )
    launch = Launch(
        read_asked([]), target=Checkpoint("/t", {"hidden_size": 7168}), draft=Checkpoint("/d", {"hidden_size": 7168})
    )
    assert found(line.format(21504), launch) == []
    assert found(line.format(7168), launch) == [("wrong-widths", "error")]
    assert "fc is bypassed" in message(line.format(7168), launch)
    assert found(line.format(7168)) == []


def test_the_tree_is_explained_by_the_server_s_own_numbers():
    text = server_args(**EAGLE3 | {"speculative_eagle_topk": 4, "speculative_num_draft_tokens": 8}) + CRASH
    text += (
        "RuntimeError: Sizes of tensors must match except in dimension 1. Expected size 6 but got size 8 for tensor "
    )
    text += "number 1 in the list.\n"
    assert found(text) == [("topk-needs-v1", "error")]
    assert "6 = steps + 1 met a tree of 8 = draft tokens: spec v2 takes topk 1 only, topk is 4" in message(text)
    assert found(text.replace("'speculative_eagle_topk': 4", "'speculative_eagle_topk': 1")) == [
        ("server-died", "error")
    ]


def test_the_adjusted_number_is_named_where_it_is_known():
    text = "[2026-01-05 09:00:00] speculative_num_draft_tokens is adjusted to speculative_num_steps + 1\n"
    launch = Launch(read_asked(["--speculative-num-draft-tokens", "4", "--speculative-num-steps", "5"]))
    assert "4 became 6" in message(text + server_args(**EAGLE3), launch)
    assert "they are 6 now" in message(text + server_args(**EAGLE3))


def test_advice_of_the_release_names_the_flags():
    text = "[2026-01-05 10:00:01 TP7] Scheduler hit an exception: Traceback (most recent call last):\n"
    text += "Exception: Capture cuda graph failed: CUDA out of memory. Tried to allocate 448.00 MiB. GPU 3 has\n"
    text += "Possible solutions:\n1. set --mem-fraction-static to a smaller value\n"
    text += "2. set --cuda-graph-max-bs-decode to 16\n"
    (finding,) = lint.explain(LogContext.of(told(text)))
    assert "GPU 3 on rank 7" in finding.message
    assert "Lower --mem-fraction-static or --cuda-graph-max-bs-decode;" in finding.hint


def test_memory_that_somebody_else_holds_is_not_called_a_false_alarm():
    text = CRASH + '  File "/opt/sglang/model_executor/model_runner.py", line 280, in init_torch_distributed\n'
    text += "ValueError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes.\n"
    assert "somebody holds it" in message(text)


@pytest.mark.parametrize(
    ("refusal", "version", "rules", "hint"),
    [
        ("unrecognized arguments: --reasoning_parser kimi_k2", None, ["flag-underscore"], "Write --reasoning-parser."),
        ("unrecognized arguments: --num-speculative-tokens 3", None, ["flag-of-vllm"], "Here: --speculative-num-steps"),
        ("unrecognized arguments: --cuda-graph-max-bss 2", None, ["flag-unknown"], "Nearest: --cuda-graph-max-bs"),
        ("unrecognized arguments: --speculative-adaptive", "0.5.5", ["flag-unknown"], "run a later release"),
        ("unrecognized arguments: --enable-beta-spec", "0.5.20", ["flag-removed"], ""),
        ("unrecognized arguments: --enable-beta-spec", None, ["flags-refused"], "--sglang-version"),
        ("unrecognized arguments: --max-model-len=8 --a_b x", None, ["flag-of-vllm", "flag-unknown"], "Here: "),
        ("unrecognized arguments: x", None, ["flags-refused"], "--help"),
        ("ambiguous option: --speculative-draft could match --speculative-draft-model-path, --speculative-draft-x",
         None, ["flag-abbreviated"], "Write --speculative-draft-model-path."),
        ("argument --speculative-algorithm: invalid choice: 'EAGLE4' (choose from 'EAGLE', 'EAGLE3')",
         "0.5.5", ["algorithm-unknown"], "'EAGLE3'"),
        ("argument --tp-size/--tp: invalid int value: 'x'", None, ["flags-refused"], "--help"),
    ],
)  # fmt: skip
def test_a_refused_flag_is_told_by_the_rule_that_knows_it(refusal, version, rules, hint):
    text = f"launch_server.py: error: {refusal}\n"
    findings = lint.explain(LogContext.of(told(text), Launch(read_asked([]), version) if version else None))
    assert [(each.rule, each.severity) for each in findings] == [(rule, "error") for rule in rules]
    assert hint in findings[0].hint
    assert refusal[:30] in findings[0].evidence


def test_a_killed_rank_is_named_by_its_exit_code():
    text = (
        "[2026-01-05 10:00:01] Rank 3 scheduler died during initialization (exit code: -9). If exit code is -9 (OOM)\n"
    )
    assert found(text) == [("rank-lost", "error")]
    assert message(text).startswith("rank 3 was killed")


def test_simulated_acceptance_is_told_of_a_launch_that_is_known():
    launch = Launch(read_asked([], {"SGLANG_SIMULATE_ACC_LEN": "3"}))
    assert found(decode(3.0, 0.4) * 3, launch) == [("simulate-acc-len", "error")]
    assert found(decode(3.0, 0.4) * 3) == []


def test_prints_that_go_on_with_graphs_are_not_warned_of():
    line = "[EAGLE3_DEBUG] site=target.aux rank=0 model=M mode={} seq=1 shapes=(6,7);(6,7);(6,7)\n"
    capture = line.format("TARGET_VERIFY")
    assert found(capture + READY + decode()) == [("debug-with-graphs", "warn")]
    assert found(capture + READY + line.format("EXTEND") + decode()) == [("debug-with-graphs", "warn")]
    assert found(capture + READY + capture + decode()) == []
    assert found(capture + READY + decode(graph=False)) == []


NOTICES = {
    "KV cache pool is full. Retract requests. #retracted_reqs: 1": ("requests-retracted", "warn"),
    "Not enough memory. Please try to increase --mem-fraction-static.": ("gpu-out-of-memory", "error"),
    "Custom allreduce is disabled because it's not supported on more than two PCIe-only GPUs.": (
        *("custom-all-reduce-on-pcie", "info"),
    ),
    "x watchdog timeout (self.watchdog_timeout=300, self.soft=True)": ("watchdog", "warn"),
    "RuntimeError: captured 2 of 3 aux hidden states": ("captures-mismatch", "error"),
    "[SPEC_CONSOLE_OVERLAY] pid=4711 refused=sglang.srt.models.llama why=hash": ("patch-missing", "error"),
}


@pytest.mark.parametrize(("line", "finding"), NOTICES.items())
def test_single_lines_that_tell_a_finding(line: str, finding: tuple[str, str]):
    head = "" if line.startswith(("Runtime", "[")) else "[2026-01-05 10:00:00 TP0] "
    assert found(f"{head}{line}\n") == [finding]


def test_an_api_key_never_reaches_the_evidence():
    text = "[2026-01-05 09:00:00] server_args=ServerArgs(api_key='hush', speculative_algorithm='EAGLE')\n"
    text += "a line of mine with --api-key hush in it\n"
    port = "ValueError: rpc_port at 1 is not available in 30 seconds. rpc_port is used by a process already. "
    port += "process.name()='x'' process.cmdline()=['python', '--api-key', 'hush'] process.status()='running' pid=7\n"
    explanation = of_history(told(text + port))
    assert [each.rule for each in explanation.findings] == ["port-in-use"]
    assert "hush" not in json.dumps(explanation.to_json()) + "\n".join(explanation.lines())
    explanation = of_history(told(text + CRASH + "ValueError: api_key='hush'\n"))
    assert "hush" not in json.dumps(explanation.to_json()) + "\n".join(explanation.lines())


def test_teardown_of_gigabytes_does_not_push_the_cause_out_nor_grow():
    def stream() -> LogHistory:
        kept = LogHistory(records_limit=0)
        offset = 0
        teardown = (
            "[rank2]:[W525 06:00:01.12 TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl(fd=91)\n" * 500
        ).encode()
        for part in (CRASH.encode() + MATMUL.encode(), *[teardown] * 20):
            kept.feed(offset, part)
            offset += len(part)
        return kept

    tracemalloc.start()
    kept = stream()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(kept.records) == 0
    assert size < 2_000_000
    assert [each.rule for each in of_history(kept).findings] == ["captures-mismatch"]


PIECES = [sample["line"] for _, sample in kind_samples()]
REAL = [line for path in sorted(DATA.glob("cases/*.log")) for line in path.read_text("utf-8", "replace").splitlines()]


@settings(max_examples=examples(150), deadline=2000)
@given(st.lists(st.sampled_from(PIECES + REAL) | st.text(max_size=20), max_size=40).map("\n".join))
def test_any_mixture_of_real_lines_is_explained(text: str):
    explanation = explain(io.BytesIO(READY.encode() + text.encode("utf-8", "replace")), "x")
    json.dumps(explanation.to_json(), allow_nan=False)
    assert len(list(explanation.lines())) < 40


@settings(max_examples=examples(100), deadline=2000)
@given(st.binary(max_size=2000))
def test_any_bytes_are_explained(data: bytes):
    json.dumps(explain(io.BytesIO(READY.encode() + data), "x").to_json(), allow_nan=False)


@pytest.mark.parametrize("text", ["", "\n\n", "# The best point\n\n- num_steps: 5\n- tok/s: 141.2\n", "\0" * 99])
def test_a_text_that_no_server_wrote_is_refused(text: str):
    """A log that was lost must not pass for a good one."""
    told_text = f"best.md: no line of an SGLang server in it ({len(text)} bytes)"
    with pytest.raises(UsageError, match=re.escape(told_text)):
        explain(io.BytesIO(text.encode()), "best.md")


@pytest.mark.parametrize(
    "line", ["[2026-01-05 10:00:00] a line that nobody knows", "[2026-01-05 10:00:00 TP0] x", MATMUL]
)
def test_one_line_of_a_server_is_enough(line: str):
    assert explain(io.BytesIO(f"no\n{line}\nno\n".encode()), "x").context.history.phase.name == "starting"


def test_a_hostile_megabyte_takes_no_time():
    for unit in (
        b"process.cmdline()=[",
        b"1. set --a-",
        b"Error: 'a' ",
        b"port 1 is in use. Waiting for 5 seconds for x ",
    ):
        started = time.perf_counter()
        explain(io.BytesIO(READY.encode() + unit * (1_000_000 // len(unit)) + b"\n"), "x")
        assert time.perf_counter() - started < 60  # quadratic takes minutes


def cli(*words: str, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*PROGRAM, "explain", *words], input=data, capture_output=True, check=False, timeout=60)


@pytest.mark.slow
def test_the_verb_reads_files_and_stdin_and_exits_by_what_it_found(tmp_path: Path):
    bad = DATA / "h200" / "tp2-four-captures.log"
    done = cli(str(bad))
    assert done.returncode == 1
    assert b"captures-mismatch: 4 captures given, 3 wanted" in done.stdout
    piped = cli("-", "--json", data=bad.read_bytes())
    told_json = json.loads(piped.stdout)
    assert (piped.returncode, told_json["schema"], told_json["ok"]) == (1, "spec-console/explain/1", False)
    assert told_json["findings"][0]["offset"] == 27312
    assert told_json["server_args"]["tp_size"] == 2
    assert told_json["ranks"] == "2/2"
    assert told_json["phase"]["name"] == "died"
    good = cli(str(DATA / "h200" / "tp4-eagle3.log"), "--json")
    told_json = json.loads(good.stdout)
    assert (good.returncode, told_json["findings"]) == (0, [])
    assert told_json["stats"]["accept_len"]["count"] == told_json["records"]["decode_batch"] == 22
    assert told_json["stats"]["strict_accept_rate"]["median"] == pytest.approx(
        (told_json["stats"]["accept_len"]["median"] - 1) / 5, abs=1e-3
    )
    assert {"count", "samples"} == told_json["unclaimed"].keys()
    assert cli(str(tmp_path / "none.log")).returncode == cli(str(tmp_path)).returncode == 2
    assert cli("-").returncode == 2


def test_the_verb_takes_configs_and_refuses_what_is_none(tmp_path: Path):
    draft = tmp_path / "config.json"
    draft.write_text('{"architectures": ["LlamaForCausalLMEagle3"], "hidden_size": 1024}')
    log = str(DATA / "h200" / "tp4-eagle3-debug.log")
    right = json.loads(cli(log, "--json", "--draft", str(draft)).stdout)
    assert {row["verdict"] for row in right["shapes"] if row["site"] == "draft.fc_out"} == {"ok"}
    assert right["findings"] == []
    assert cli(log, "--draft", str(tmp_path / "none")).returncode == 2
    assert cli(log, "--profile", "no-such-profile").returncode == 2


def test_a_reader_that_hangs_up_ends_it_without_a_traceback():
    read, write = os.pipe()
    os.close(read)
    log = str(DATA / "h200" / "tp2-four-captures.log")
    done = subprocess.run([*PROGRAM, "explain", log], stdout=write, stderr=subprocess.PIPE, check=False, timeout=60)
    os.close(write)
    assert b"Traceback" not in done.stderr


def test_every_kind_of_record_has_a_sample_here():
    assert {path.stem for path in KINDS} >= {"notice", "advice", "kernel_build"}
