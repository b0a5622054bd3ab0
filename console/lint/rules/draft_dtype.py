"""Draft and target are loaded in different dtypes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint import asks
from console.lint.evidence import quoting
from console.lint.rule import Rule
from console.wiring import draft as drafts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import Launch, LogContext
    from console.lint.finding import Finding

RULE = Rule(
    id="draft-dtype",
    title="Draft and target are loaded in different dtypes",
    why="Without --dtype each is loaded as its own config says, and the target's states go into the draft's fc as they "
    "are: mat1 and mat2 must have the same dtype. It ends in graph capture, under advice on memory that does not "
    "apply.",
    source="configs/model_config.py _get_and_verify_dtype 0.5.20 (float32 becomes float16); sgl-project/sglang issues "
    "3824, 5153, PR 3431; case A13",
)


def check(launch: Launch) -> Iterator[Finding]:
    asked = asks.full(launch)
    if launch.draft is None or launch.target is None or (asked.value("dtype") or "auto") != "auto":
        return
    own, target = drafts.dtype(launch.draft.config), drafts.dtype(launch.target.config)
    if own and target and own != target:
        evidence = f"draft {own}, target {target}; float32 is loaded as float16"
        yield RULE.warn(f"the draft is loaded as {own}, the target as {target}", f"Give --dtype {target}.", evidence)


def explain(log: LogContext) -> Iterator[Finding]:
    for record in log.errors("dtype"):
        left, right = record.fields["mat1_dtype"], record.fields["mat2_dtype"]
        message = f"a matrix product got {left} and {right}: the dtypes of target and draft differ, not their shapes"
        yield quoting(RULE.error(message, "Give --dtype, so that both models run in one (e.g. bfloat16)."), record)
        return
