"""A GPU ran out of memory, or the KV pool got none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint.evidence import quoting
from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LogContext
    from console.lint.finding import Finding

RULE = Rule(
    id="gpu-out-of-memory",
    title="A GPU ran out of memory, or the KV pool got none",
    why="While weights load another process holds the GPU, or the model is too big; while serving, the room that "
    "--mem-fraction-static leaves for activations is too small.",
    source="torch's `CUDA out of memory. Tried to allocate`; SGLang's `Not enough memory. Please try to increase "
    "--mem-fraction-static.`, 28 releases, 0.4.6.post1 to 0.5.23",
)


def explain(log: LogContext) -> Iterator[Finding]:
    for record in log.errors("out_of_memory"):
        if record.fields.get("during") == "graph_capture":
            continue
        gpu, tried = record.fields.get("gpu"), record.fields.get("tried")
        message = f"out of memory{f' on GPU {gpu}' if gpu is not None else ''} {_when(log)}"
        message += f"; {tried} more was wanted" if tried else ""
        hint = "See who holds the GPUs (`status`, `free`); else take fewer tokens or a lower --mem-fraction-static."
        yield quoting(RULE.error(message.rstrip(), hint), record)
        return
    for record in log.failures("not_enough_memory"):
        message = "nothing was left for the KV pool behind weights and draft"
        hint = (
            "Raise --mem-fraction-static, or lower --max-running-requests or --context-length; see who holds the GPUs."
        )
        yield quoting(RULE.error(message, hint), record)
        return


def _when(log: LogContext) -> str:
    return log.history.phase.detail if log.history.phase.name == "died" else ""
