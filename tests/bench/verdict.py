"""`python -m tests.bench.verdict`: how often the verdict errs, simulated; the table stands in docs/probes.md.

Blocks of a server of 90 tok/s, normal with the given coefficient of variation (CV), independent: a real node also has
drift and launches that differ, which no such simulation sees. The seed is fixed: the table is the same each time.
"""

from __future__ import annotations

import random
import statistics
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from console.probe.stats import MIN_BLOCKS, contrast, enough, half_width

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Stop = Callable[[Sequence[float], Sequence[float]], bool]

SEED = 7
RATE = 90.0
DROP = 0.10
TIMES = 1000
MOST_BLOCKS = 20
"""The budget of an adaptive run."""


class Rates(NamedTuple):
    """Shares of `times` comparisons, and the median of what each said was detectable."""

    false_alarms: float
    found: float
    detectable: float


class Adaptive(NamedTuple):
    """Shares of false alarms, and blocks that a run took, on average."""

    false_alarms: float
    blocks: float


def fixed(n: int, cv: float, times: int = TIMES, seed: int = SEED) -> Rates:
    """Compare a server with itself, and with one that is 10 % slower, `n` blocks on each side."""
    rng = random.Random(f"{seed} {n} {cv}")
    alike = [contrast(_blocks(rng, RATE, cv, n), _blocks(rng, RATE, cv, n)) for _ in range(times)]
    apart = [contrast(_blocks(rng, RATE, cv, n), _blocks(rng, RATE * (1 - DROP), cv, n)) for _ in range(times)]
    alarms = sum(each.verdict != "cant_tell" for each in alike)
    found = sum(each.verdict == "slower" for each in apart)
    return Rates(alarms / times, found / times, statistics.median(each.detectable or 0.0 for each in alike))


def adaptive(stop: Stop, n: int, cv: float, times: int) -> Adaptive:
    """Compare a server with itself, adding blocks to the second side until `stop` says so; `n` on the first one."""
    rng = random.Random(f"{SEED} {n} {cv} adaptive")
    alarms, taken = 0, 0
    for _ in range(times):
        baseline, stream = _blocks(rng, RATE, cv, n), _blocks(rng, RATE, cv, MOST_BLOCKS)
        blocks = next(each for each in _growing(stream) if len(each) == MOST_BLOCKS or stop(baseline, each))
        alarms += contrast(baseline, blocks).verdict != "cant_tell"
        taken += len(blocks)
    return Adaptive(alarms / times, taken / times)


def by_width(wanted: float) -> Stop:
    """The product's rule."""
    return lambda baseline, blocks: enough(baseline, blocks, wanted)


def by_width_early(wanted: float) -> Stop:
    """The same without MIN_BLOCKS: why it is there."""

    def stop(baseline: Sequence[float], blocks: Sequence[float]) -> bool:
        width = half_width(baseline, blocks)
        return width is not None and width <= wanted

    return stop


def by_verdict(baseline: Sequence[float], blocks: Sequence[float]) -> bool:
    """What not to do."""
    return contrast(baseline, blocks).verdict != "cant_tell"


def _blocks(rng: random.Random, mean: float, cv: float, n: int) -> list[float]:
    return [mean * (1 + cv * rng.gauss(0, 1)) for _ in range(n)]


def _growing(stream: Sequence[float]) -> Iterator[Sequence[float]]:
    return (list(islice(stream, n)) for n in range(3, len(stream) + 1))


def main() -> None:
    """Print both tables as Markdown."""
    print(f"{TIMES} comparisons a cell, seed {SEED}\n")
    print("| CV | blocks a side | A/A called different | true 10 % drop found | detectable (median) |")
    print("|---|---|---|---|---|")
    for cv in (0.01, 0.04, 0.10):
        for n in (3, 5, 8):
            rates = fixed(n, cv)
            print(f"| {cv:.0%} | {n} | {rates.false_alarms:.1%} | {rates.found:.1%} | {rates.detectable:.1%} |")
    print(f"\nAdaptive, at most {MOST_BLOCKS} blocks, A/A\n")
    print("| CV | baseline's blocks | stops on | A/A called different | blocks (mean) |")
    print("|---|---|---|---|---|")
    for cv, wanted in ((0.01, 0.02), (0.04, 0.05), (0.10, 0.10)):
        for n in (5, 8):
            rules = (
                (f"width ± {wanted:.0%}, from {MIN_BLOCKS} blocks", by_width(wanted)),
                (f"width ± {wanted:.0%}, from 3 blocks", by_width_early(wanted)),
                ("the verdict, from 3 blocks", by_verdict),
            )
            for name, rule in rules:
                found = adaptive(rule, n, cv, TIMES)
                print(f"| {cv:.0%} | {n} | {name} | {found.false_alarms:.1%} | {found.blocks:.1f} |")


if __name__ == "__main__":
    main()
