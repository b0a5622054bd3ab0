"""A collective ran into torch's time limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint.evidence import quoting, rank_name
from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LogContext
    from console.lint.finding import Finding

RULE = Rule(
    id="collective-timeout",
    title="A collective ran into torch's time limit",
    why="Ranks that have loaded wait in their first collective for those that still load; after 600 s torch ends all.",
    source="sgl-project/sglang issues 3784 and 3783; case B09",
)

_SERVED = frozenset({"decode_batch", "prefill_batch", "ready"})


def explain(log: LogContext) -> Iterator[Finding]:
    for record in log.trouble("glog"):
        if not record.fields.get("collective_timeout") or not log.is_cause(record):
            continue
        rank = rank_name(record.rank)
        if any(log.history.counts[kind] for kind in _SERVED):
            message = f"{rank}'s collective timed out while serving: another rank is gone, or hangs"
            hint = "Look for the rank that is silent; NCCL_DEBUG=INFO names the collective."
        else:
            message = (
                f"{rank} waited longer than torch's limit for the others: loading outlasts the collective's timeout"
            )
            hint = "Give --dist-timeout (seconds) more than the slowest rank's load; look at its disk."
        yield quoting(RULE.error(message, hint), record)
        return
