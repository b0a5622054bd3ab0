"""A flag is accepted and does nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.launch.speculation import NO_EFFECT
from console.lint import asks
from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import Launch
    from console.lint.finding import Finding

RULE = Rule(
    id="flag-no-effect",
    title="A flag is accepted and does nothing",
    why="Time goes into tuning it, and a speed change is put down to it.",
    source="srt/ of 28 releases: num_continuous_decode_steps is declared and read by nothing; an EAGLE-3 draft "
    "brings d2t, which is used in place of a token map; case B20",
)


def check(launch: Launch) -> Iterator[Finding]:
    asked = asks.full(launch)
    if asked.has(NO_EFFECT):
        told = "declared in 0.4.6.post1 to 0.5.23, read in none of them"
        yield RULE.info(f"--{NO_EFFECT} {asked.value(NO_EFFECT)} has no effect", "It explains no difference.", told)
    if asked.has("speculative-token-map") and asked.algorithm == "EAGLE3":
        yield RULE.info("--speculative-token-map has no effect with EAGLE3", "The draft's own d2t is used.")
