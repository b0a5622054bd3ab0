"""Debug records are on, and CUDA graphs are not off: records come from graph capture only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.launch.releases import is_within
from console.lint import asks, wired
from console.lint.rule import Rule
from console.patches.catalog import eagle3_digest, eagle3_shapes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import Launch, LogContext
    from console.lint.finding import Finding

RULE = Rule(
    id="debug-with-graphs",
    title="Debug records are on, and CUDA graphs are not off: records come from graph capture only",
    why="A replayed graph runs no Python: records come while graphs are captured, for batches that nobody sent, "
    "and never again. Their silence while serving says nothing.",
    source="flashinfer-ai/flashinfer PR 3172, sgl-project/sglang PR 19102 (--debug-cuda-graph); case F07",
)

EAGER = (eagle3_shapes.PATCH.env, eagle3_digest.PATCH.env)
"""Switches of patches whose lines lie inside the graphs; those of eagle3-cycle lie around them."""


def check(launch: Launch) -> Iterator[Finding]:
    asked = asks.full(launch)
    on = [name for name in EAGER if asked.switched_on(name)]
    if on and wired.replays_graphs(asked):
        walk = is_within(launch.version, "0.5.11")
        hint = "Add --disable-cuda-graph" + (", or --debug-cuda-graph to walk the graphs eagerly." if walk else ".")
        yield RULE.warn(f"{' and '.join(on)} set with CUDA graphs on: records come only while they are captured", hint)


def explain(log: LogContext) -> Iterator[Finding]:
    replay = log.history.replay
    if not replay.only_captured:
        return
    message = f"0 shape lines in {replay.graph_windows} decode windows with cuda graph True; "
    message += f"the {replay.before_ready} there are come from load, capture and warm-up"
    hint = "Launch with --disable-cuda-graph to see each step (draft and target have graphs of their own)."
    yield RULE.warn(message, hint)
