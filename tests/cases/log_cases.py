"""Logs of the field and of real GPUs, and what rules must say of each: findings in order, no others.

`cases/` are from public issues, pull requests and field notes; `h200/` are runs of SGLang 0.5.12.post1 on H200s, six of
them with a fault made on purpose.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from console.actions.explain_log import Explanation, explain

DATA = Path(__file__).parents[1] / "data" / "logs"

Expected = tuple[tuple[str, str], ...]
RATE = ("accept-rate-formula", "info")


@dataclass(frozen=True)
class Case:
    """One log."""

    id: str
    file: str
    """Below tests/data/logs."""
    version: str
    """SGLang's release where it is known."""
    expects: Expected = ()
    """(rule, severity) in the order in which they are told."""
    says: tuple[str, ...] = field(default=())
    """Pieces of the first finding's message, hint and evidence."""

    def explain(self) -> Explanation:
        with (DATA / self.file).open("rb") as stream:
            return explain(stream, self.file)


LOG_CASES = (
    Case(
        "A01", "cases/A01-eagle-flag.log", "2026-03",
        (("no-draft-token-accepted", "error"), RATE), ("accept len 1.00", "floor 1/4", "EAGLE3"),
    ),
    Case(
        "A02", "cases/A02-four-captures.log", "",
        (("captures-mismatch", "error"),), ("4 captures given, 3 wanted (hidden size 7168)", "one too many", "rank 3"),
    ),
    Case(
        "A03", "cases/A03-all-layers.log", "",
        (("captures-mismatch", "error"),), ("37 captures given, 3 wanted (hidden size 4096)", "layers + 1"),
    ),
    Case("A10", "cases/A10-no-hook.log", "0.5.9", (("target-without-hook", "error"),), ("KimiK25", "0.5.10")),
    Case(
        "A11", "cases/A11-no-draft.log", "2026-08",
        (("draft-missing", "error"),), ("Qwen2ForCausalLM", "--speculative-draft-model-path", "set_embed"),
    ),
    Case(
        "A12", "cases/A12-draft-vocab.log", "",
        (("draft-vocab", "error"),), ("lm_head.weight", "32000", "128256", "vocabulary"),
    ),
    Case("A13", "cases/A13-dtype.log", "0.4.3", (("draft-dtype", "error"),), ("Float and Half", "--dtype")),
    Case(
        "A15", "cases/A15-dp-accept.log", "2026-01",
        (("dp-attention-accept", "info"), RATE), ("1.47", "issue 16274"),
    ),
    Case(
        "A17", "cases/A17-specv2-topk.log", "2025-11",
        (("topk-needs-v1", "error"),), ("6 = steps + 1", "8 = draft tokens"),
    ),
    Case("A19", "cases/A19-standalone.log", "2026-05", (("hidden-size", "error"),), ("4096", "2048")),
    Case(
        "A22", "cases/A22-floor.log", "2026-08",
        (("no-draft-token-accepted", "warn"), RATE), ("floor 1/9", "Wiring before drafter quality"),
    ),
    Case("B01", "cases/B01-port.log", "0.4", (("port-in-use", "error"),), ("30000", "after everything was loaded")),
    Case(
        "B03", "cases/B03-rpc-port.log", "0.5.9",
        (("port-in-use", "error"),), ("rpc_port 11236", "pid 48121 (running)", "sglang serve --model-path"),
    ),
    Case(
        "B04", "cases/B04-graph-oom.log", "0.4",
        (("graph-capture-memory", "error"),),
        ("GPU 7", "rank 7", "448.00 MiB", "--mem-fraction-static or --cuda-graph-max-bs;"),
    ),
    Case(
        "B05 draft", "cases/B05-unbalanced-draft.log", "0.4.3",
        (("memory-unbalanced", "error"),), ("false alarm", "SGL_DISABLE_TP_MEMORY_INBALANCE_CHECK"),
    ),
    Case("B05 warn", "cases/B05-unbalanced-warn.log", "0.5.9", (("memory-unbalanced", "warn"),), ("went on",)),
    Case("B08", "cases/B08-watchdog.log", "0.4.8", (("watchdog", "error"),), ("rank 4", "300 s", "py-spy")),
    Case(
        "B09", "cases/B09-c10d.log", "0.4.3",
        (("collective-timeout", "error"),), ("rank 26", "--dist-timeout", "loading"),
    ),
    Case(
        "B11", "cases/B11-abbrev.log", "0.5.2",
        (("flag-abbreviated", "error"),), ("--speculative-draft is ambiguous", "Write --speculative-draft-model-path"),
    ),
    Case(
        "B15", "cases/B15-car.log", "0.5.5",
        (("custom-all-reduce", "error"),), ("invalid argument", "--disable-custom-all-reduce"),
    ),
    Case(
        "B17", "cases/B17-exit0.txt", "0.5.9",
        (("server-died", "error"),), ("rank 2", "illegal memory access", "no clean stop"),
    ),
    Case("B19", "cases/B19-adjusted.log", "0.5", (("draft-tokens-adjusted", "warn"),), ("steps + 1",)),
    Case("D01", "cases/D01-decode-versions.log", "many", (("dp-attention-accept", "info"),)),
    Case("D03", "cases/D03-tqdm-glued.log", "0.4.4"),
    Case("D05", "cases/D05-docker.log", "0.5.5", (("server-died", "error"),), ("rank 2", "while loading")),
    Case("D06", "cases/D06-markup.log", "", (("captures-mismatch", "error"),)),
    Case("D08", "cases/D08-interleaved.log", "", (("captures-mismatch", "error"),), ("1 more",)),
    Case("D12", "cases/D12-access.log", ""),
    Case(
        "D13", "cases/D13-teardown.log", "2026-05",
        (("server-died", "error"),), ("rank 5", "invalid for input of size 21504", "21504 = 3 × 7168"),
    ),
    Case("E04", "cases/E04-first-window.log", "0.5.3.post3", (RATE,), ("0.27",)),
    Case("E06", "cases/E06-clients.log", "2025-03"),
    Case("F01", "cases/F01-shape-prints.log", ""),
    Case(
        "F03", "cases/F03-torch-errors.log", "",
        (
            ("captures-mismatch", "error"), ("captures-mismatch", "error"), ("topk-needs-v1", "error"),
            ("draft-vocab", "error"),
        ),
    ),
    Case("F05", "cases/F05-values.log", ""),
    Case(
        "F07", "cases/F07-capture-only.log", "0.5.9",
        (("debug-with-graphs", "warn"), RATE), ("0 shape lines in 1 decode window", "--disable-cuda-graph"),
    ),
    Case("F08", "cases/F08-rows.log", ""),
    Case(
        "H200 kernel build", "h200/tp1-crash-jit-build.log", "0.5.12.post1",
        (("kernel-build-failed", "error"),), ("norm.cu", "does not apply"),
    ),
    Case("H200 TP 1", "h200/tp1-eagle3.log", "0.5.12.post1"),
    Case(
        "H200 ambiguous flag", "h200/tp2-ambiguous-flag.log", "0.5.12.post1",
        (("flag-abbreviated", "error"),), ("--speculative-draft is ambiguous", "--speculative-draft-model-path"),
    ),
    Case("H200 eager", "h200/tp2-deepseek-eagle3-eager.log", "0.5.12.post1"),
    Case("H200 graphs", "h200/tp2-deepseek-eagle3-graphs.log", "0.5.12.post1"),
    Case(
        "H200 draft missing", "h200/tp2-draft-missing.log", "0.5.12.post1",
        (("path-missing", "error"),), ("/models/pair/missing",),
    ),
    Case(
        "H200 EAGLE flag", "h200/tp2-eagle-flag.log", "0.5.12.post1",
        (("algorithm-for-eagle3", "error"),),
        ("LlamaForCausalLMEagle3 is run as EAGLE", "15 windows", "--speculative-algorithm EAGLE3"),
    ),
    Case(
        "H200 four captures", "h200/tp2-four-captures.log", "0.5.12.post1",
        (("captures-mismatch", "error"),), ("4 captures given, 3 wanted (hidden size 1024)", "one too many"),
    ),
    Case("H200 port", "h200/tp2-port-in-use.log", "0.5.12.post1", (("port-in-use", "error"),), ("8000",)),
    Case(
        "H200 killed scheduler", "h200/tp2-scheduler-killed.log", "0.5.12.post1",
        (("rank-lost", "error"),), ("rank 1 was killed from outside", "rank 0 lost"),
    ),
    Case(
        "H200 illegal memory access", "h200/tp2-illegal-memory.log", "0.5.12.post1",
        (("server-died", "error"),), ("an illegal memory access", "Launch once more", "CUDA_LAUNCH_BLOCKING=1"),
    ),
    Case(
        "H200 NCCL after a kernel's fault", "h200/tp2-nccl-unhandled.log", "0.5.12.post1",
        (("server-died", "error"),),
        ("unhandled cuda error", "called at", "sglang/srt/distributed/parallel_state.py:814", "CUDA_LAUNCH_BLOCKING=1"),
    ),
    Case(
        "H200 kernel does not compile", "h200/tp2-triton-compile.log", "0.5.12.post1",
        (("server-died", "error"),),
        ("CompilationError", "incompatible dimensions at index 1: 64 and 128", "triton_ops/decode_attention.py:483"),
    ),
    Case(
        "H200 sync in a capture", "h200/tp2-sync-in-capture.log", "0.5.12.post1",
        (("sync-in-capture", "error"),),
        ("_spec_console_user_sync_in_forward.py:11", "rank 0", "patch sync-in-forward", "disable_cuda_graph=true"),
    ),
    Case(
        "H200 held memory", "h200/tp2-memory-unbalanced.log", "0.5.12.post1",
        (("memory-unbalanced", "error"),), ("one GPU has less memory free than the others",),
    ),
    Case(
        "H200 overlay under graphs", "h200/tp2-deepseek-eagle3-overlay.log", "0.5.12.post1",
        (("debug-with-graphs", "warn"),), ("0 shape lines in 6 decode windows",),
    ),
    Case("H200 baseline", "h200/tp4-baseline.log", "0.5.12.post1"),
    Case("H200 TP 4 debug", "h200/tp4-eagle3-debug.log", "0.5.12.post1"),
    Case("H200 TP 4", "h200/tp4-eagle3.log", "0.5.12.post1"),
    Case("CPU", "sglang_cpu/tp2-digest-cycle.log", ""),
)  # fmt: skip
