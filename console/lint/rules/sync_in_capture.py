"""Something waited for the GPU while a CUDA graph was captured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint.evidence import quoting
from console.lint.rule import Rule
from console.patches import library

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from console.lint.context import LogContext
    from console.lint.finding import Finding

RULE = Rule(
    id="sync-in-capture",
    title="Something waited for the GPU while a CUDA graph was captured",
    why="A capture records work without doing it, so nothing may wait for a result: `.item()`, `.cpu()`, a print of a "
    "tensor's values, an `if` on one. Eager it works, with graphs it dies, and SGLang's advice under it is of memory.",
    source="provoked on 2 × H200, SGLang 0.5.12.post1; CUDA runtime API, cudaErrorStreamCaptureUnsupported and "
    "cudaErrorStreamCaptureImplicit",
)

_SENTENCES = ("not permitted when stream is capturing", "depend on a capturing blocking stream")


def explain(log: LogContext) -> Iterator[Finding]:
    for record in log.trouble("torch_error", "traceback"):
        if not any(sentence in record.text for sentence in _SENTENCES):
            continue
        frames = log.frames(record)
        rank = log.rank_of(record)
        where = f" at {frames[-1]}" if frames else ""
        message = f"something waits for the GPU{where}{'' if rank is None else f' (rank {rank})'}, under graph capture"
        yield quoting(RULE.error(message, _hint(frames)), record)
        return


def _hint(frames: Sequence[str]) -> str:
    patch = library.of_runtime_file(frames[-1].rpartition("/")[2].rpartition(":")[0]) if frames else None
    what = f"It is the runtime file of the patch {patch}: let it do nothing" if patch else "Let that code do nothing"
    return (
        f"{what} while torch.cuda.is_current_stream_capturing(), or keep the result on the GPU; or launch eager: "
        "--set disable_cuda_graph=true."
    )
