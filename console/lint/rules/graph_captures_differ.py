"""CUDA graphs capture other layers than the config says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint import asks, wired
from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import Launch
    from console.lint.finding import Finding

RULE = Rule(
    id="graph-captures-differ",
    title="CUDA graphs capture other layers than the config says",
    why="Up to 0.5.10.post1 graphs are captured with the default ids. A debug run without graphs is then wired "
    "otherwise than production.",
    source="cuda_graph_runner.py 0.5.2 l.344, 0.5.9 l.361, 0.5.10 l.648; mended in 0.5.11 (sgl-project/sglang PR "
    "22836)",
)


def check(launch: Launch) -> Iterator[Finding]:
    found = launch.resolution
    if wired.eagle3_draft(launch) is None or found is None or not wired.replays_graphs(asks.full(launch)):
        return
    if found.replay is None or not found.differs_in_replay:
        return
    hint = "Run SGLang 0.5.11 or newer, or with --disable-cuda-graph (slow)."
    replay = wired.outputs(found.replay.outputs)
    if found.eager is None:
        yield RULE.warn(
            f"CUDA graphs capture the outputs of layers {replay}, a prefill perhaps others too", hint, found.unknown
        )
        return
    eager = wired.outputs(found.eager.outputs)
    message = f"a verify from CUDA graphs captures the outputs of layers {replay}, a prefill those of {eager}"
    trained = f"; trained on {wired.outputs(launch.trained)}" if launch.trained else ""
    yield RULE.error(message, hint, f"{wired.on(launch)}{trained}")
