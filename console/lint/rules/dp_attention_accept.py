"""Data-parallel attention was on while acceptance was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LogContext
    from console.lint.finding import Finding

RULE = Rule(
    id="dp-attention-accept",
    title="Data-parallel attention was on while acceptance was measured",
    why="Releases before the fix synced only a part of the tokens in the draft-extend graph: accept len fell from 2.34 "
    "to 1.49 on the same draft.",
    source="sgl-project/sglang issue 16274, fixed by PR 16974 (merged 2026-01); case A15",
)


def explain(log: LogContext) -> Iterator[Finding]:
    if not log.history.stats.accept_len.count:
        return
    if len(log.history.stats.groups) > 1 or log.server_args.get("enable_dp_attention") is True:
        middle = log.history.stats.accept_len.median or 0.0
        message = f"accept len {middle:.2f} is with DP attention, which lowers it in releases before the fix"
        yield RULE.info(message, "Measure without --enable-dp-attention too before the draft is blamed (issue 16274).")
