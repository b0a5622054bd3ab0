"""More requests at once than the CUDA graphs hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint import asks
from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.launch.asked import Asked
    from console.lint.context import Launch
    from console.lint.finding import Finding

RULE = Rule(
    id="graph-bs-below-concurrency",
    title="More requests at once than the CUDA graphs hold",
    why="Above the largest captured batch every step runs eagerly, and the figure is of that.",
    source="SafeAILab/EAGLE issue 298; case E08",
)


def check(launch: Launch) -> Iterator[Finding]:
    asked = asks.full(launch)
    concurrency = launch.concurrency
    if concurrency is None and launch.profile is not None:
        concurrency = launch.profile.probe.concurrency
    largest = _largest(asked)
    if concurrency is not None and largest is not None and concurrency > largest:
        message = f"{concurrency} requests at once, and CUDA graphs for {largest} at most: the rest runs eagerly"
        yield RULE.warn(message, f"Raise --cuda-graph-max-bs to {concurrency} or more.", f"graphs up to {largest}")


def _largest(asked: Asked) -> int | None:
    """The largest batch that is captured, as far as the flags say it."""
    for each in reversed(asked.given):
        if each.flag in ("cuda-graph-bs", "cuda-graph-bs-decode") and all(v.isdecimal() for v in each.values):
            return max(map(int, each.values), default=None)
    bound = asked.number("cuda-graph-max-bs-decode")
    return asked.number("cuda-graph-max-bs") if bound is None else bound
