"""Some of steps, topk and draft tokens are given and the others are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.launch.flag_reading import dashed
from console.launch.releases import is_within
from console.launch.speculation import EAGLE_LIKE, STEP_FLAGS
from console.lint import asks
from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import Launch
    from console.lint.finding import Finding

RULE = Rule(
    id="speculative-steps-incomplete",
    title="Some of steps, topk and draft tokens are given and the others are not",
    why="SGLang chooses all three or none: what is left then fails an assertion, or compares None with a number.",
    source=(
        "server_args.py 0.4.6.post1 l.337, 0.5.2 to 0.5.12.post1 (speculative_eagle_topk > 1 is asked first), "
        "0.5.9 l.2422; arg_groups/speculative_hook.py 0.5.15 l.380; case B19"
    ),
)


def check(launch: Launch) -> Iterator[Finding]:
    asked = asks.full(launch)
    if asked.algorithm not in EAGLE_LIKE or asked.has("speculative-adaptive"):
        return
    given = [flag for flag in STEP_FLAGS if asked.has(flag)]
    steps, topk, _ = STEP_FLAGS
    if given and steps not in given:
        hint = f"Give --{steps} too, or leave all three to SGLang."
        yield RULE.error(f"{dashed(tuple(given))} without --{steps}: an assertion fails", hint)
    elif given and topk not in given and is_within(launch.version, "0.5.2") is not False:
        hint = f"Give --{topk} too (1 for a chain)."
        yield RULE.error(f"--{steps} without --{topk}: SGLang compares None with a number", hint)
