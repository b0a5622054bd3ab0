"""The GPUs of the tensor-parallel group do not have the same memory free."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint.evidence import quoting
from console.lint.rule import Rule
from console.logs.parsers.traceback import exception_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LogContext
    from console.lint.finding import Finding
    from console.logs.record import Record

RULE = Rule(
    id="memory-unbalanced",
    title="The GPUs of the tensor-parallel group do not have the same memory free",
    why="One sentence, two causes: somebody holds a GPU, or the draft worker ran the check again after the target was "
    "loaded. 0.4.3 to 0.4.6 die of it; 0.5.9 and later warn, and leave the draft worker out.",
    source="sgl-project/sglang issues 4233 and 1533, PR 5426; case B05",
)

_DRAFT_WORKER = "eagle_worker"


def explain(log: LogContext) -> Iterator[Finding]:
    for record in log.failures("unbalanced_memory"):
        yield quoting(_finding(log, record), record)
        return


def _finding(log: LogContext, record: Record) -> Finding:
    if exception_line(str(record.fields["sentence"])) is None:
        message = "one GPU has less memory free than the others; the server went on"
        return RULE.warn(message, "See who holds memory there (`status`); the pool is as small as the fullest GPU.")
    if any(_DRAFT_WORKER in frame for frame in log.frames(record)):
        message = "the draft worker's memory check failed: a false alarm of this release; probably nobody holds a GPU"
        hint = (
            "Set SGL_DISABLE_TP_MEMORY_INBALANCE_CHECK=1 (0.4.6.post5), or install a release that only warns (0.5.9)."
        )
        return RULE.error(message, hint)
    message = "one GPU has less memory free than the others: somebody holds it"
    return RULE.error(message, "See who (`status NODE`), then `free NODE`.")
