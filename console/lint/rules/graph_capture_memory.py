"""No memory was left for capturing CUDA graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint.evidence import quoting
from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LogContext
    from console.lint.finding import Finding

RULE = Rule(
    id="graph-capture-memory",
    title="No memory was left for capturing CUDA graphs",
    why="Weights and KV pool fit, the graphs do not; with speculation there are three sets of them. The flags that "
    "help change their names between releases.",
    source="sgl-project/sglang PR 3430, issues 5285, 4489, 23769; the log's own list of ways out; case B04",
)

_HELPFUL = ("--mem-fraction-static", "--cuda-graph-max-bs", "--cuda-graph-max-bs-decode")


def explain(log: LogContext) -> Iterator[Finding]:
    for record in log.errors("out_of_memory"):
        if record.fields.get("during") != "graph_capture":
            continue
        rank = log.rank_of(record)
        gpu, tried = record.fields.get("gpu"), record.fields.get("tried")
        place = " on ".join(part for part in (f"GPU {gpu}" if gpu is not None else "", _rank(rank)) if part)
        message = f"out of memory while capturing CUDA graphs{f': {place}' if place else ''}"
        message += f"; {tried} more was wanted" if tried else ""
        yield quoting(RULE.error(message, _hint(log)), record)
        return


def _rank(rank: int | None) -> str:
    return "" if rank is None else f"rank {rank}"


def _hint(log: LogContext) -> str:
    """The flags by the names that this release's own advice uses."""
    told = [flag for record in log.of_kind("advice") for flag in record.fields["flags"]]  # type: ignore[attr-defined]
    flags = list(dict.fromkeys(flag for flag in told if flag in _HELPFUL)) or list(_HELPFUL[:2])
    return f"Lower {' or '.join(flags)}; the GPU's number is torch's, under CUDA_VISIBLE_DEVICES it counts from 0 anew."
