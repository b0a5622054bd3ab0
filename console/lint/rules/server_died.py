"""The server died of something that no other rule knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint.evidence import quoting
from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from console.lint.context import LogContext
    from console.lint.finding import Finding
    from console.logs.phases import Cause

RULE = Rule(
    id="server-died",
    title="The server died of something that no other rule knows",
    why="The last lines are teardown, often thousands; the first exception is the cause. SGLang's handler ends its "
    "tree and exits 0, so an exit code of 0 is no clean stop. A CUDA error is told by whoever waits next, seldom by "
    "the kernel that made it.",
    source="cases B17, D08, D13; sgl-project/sglang PRs 29284 and 15997; on 2 × H200 an MLA latent of 64 + 32 died "
    "eager by illegal memory accesses, or not at all, and with graphs told its cause, Triton's decode kernel",
)

_ANNOUNCED = ("child_sigquit", "sigquit", "exception", "rank_dead", "child_crashed", "not_started")


def explain_rest(log: LogContext) -> Iterator[Finding]:
    cause = log.cause
    if cause is None or log.history.phase.name == "stopping":
        return
    died = log.history.phase.name == "died"
    rank = f"rank {cause.rank}: " if cause.rank is not None else ""
    evidence = [record for record in log.trouble(*_KINDS) if record.offset == cause.offset][:1]
    evidence += log.failures(*_ANNOUNCED)[:1]
    if died:
        message = f"died {log.history.phase.detail}: {rank}{_said(log, cause)}"
        yield quoting(RULE.error(message, _hint(log, cause)), *sorted(evidence, key=lambda each: each.offset))
    else:
        message = f"an exception, and nothing useful behind it so far: {rank}{cause.sentence[:300]}"
        yield quoting(RULE.warn(message, _hint(log, cause)), *evidence[:1])


_KINDS = ("failure", "torch_error", "traceback", "glog", "uvicorn", "argparse_error")


def _hint(log: LogContext, cause: Cause) -> str:
    frames = next((log.frames(record) for record in log.trouble(*_KINDS) if record.offset == cause.offset), ())
    parts = [_place(frames)] if frames else []
    if cause.kind in {"cuda_error", "nccl"}:
        parts.append(
            "It is told by whoever waited next, not by the kernel that made it. Launch once more; if it dies again, "
            "with --env CUDA_LAUNCH_BLOCKING=1, which names the kernel."
        )
    if cause.kind == "view":
        parts.append(_factors(cause))
    if log.failures("child_sigquit", "sigquit"):
        parts.append("An exit code of 0 is no clean stop here: SGLang's handler ends the tree and exits 0.")
    return " ".join(part for part in parts if part) or "Look at the lines above the first exception."


def _said(log: LogContext, cause: Cause) -> str:
    """The exception; one that only says where in a kernel's source it was, with the one that follows its excerpt."""
    if not cause.sentence.rstrip().endswith(":"):
        return cause.sentence[:300]
    behind = (record for record in log.of_kind("traceback") if record.offset > cause.offset)
    after = next((record for record in behind if record.fields["part"] in ("exception", "start")), None)
    more = str(after.fields["sentence"]) if after is not None and after.fields["part"] == "exception" else ""
    return f"{cause.sentence} {more}"[:300].rstrip()


def _place(frames: Sequence[str]) -> str:
    """Where it was thrown, and where SGLang called it."""
    inner = next((frame for frame in reversed(frames) if "/sglang/" in frame or "spec_console" in frame), frames[-1])
    return f"At {frames[-1]}{'' if inner == frames[-1] else f', called at {inner}'}."


def _factors(cause: Cause) -> str:
    """`shape '[1, -1, 7168]' is invalid for input of size 21504`: 21504 = 3 × 7168."""
    wanted, _, size = cause.sentence.rpartition(" of size ")
    last = wanted.rpartition("[")[2].partition("]")[0].rpartition(",")[2].strip()
    if not (size.strip().isdecimal() and last.isdecimal() and int(last)):
        return ""
    times, rest = divmod(int(size), int(last))
    return "" if rest else f"{size.strip()} = {times} × {last}."
