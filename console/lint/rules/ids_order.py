"""Layer ids in another order than the layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint import wired
from console.lint.rule import Rule
from console.wiring.layers import draft_ids

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import Launch
    from console.lint.finding import Finding

RULE = Rule(
    id="ids-order",
    title="Layer ids in another order than the layers",
    why="SGLang concatenates in the order of layers, whatever the order of ids. A draft whose fc was trained in "
    "another order gets its states in the wrong slots, silently.",
    source="[3, 2, 6] run on a CPU server of 0.5.20: captured as [2, 3, 6]",
)


def check(launch: Launch) -> Iterator[Finding]:
    draft = wired.eagle3_draft(launch)
    ids = draft_ids(draft.config).ids if draft else None
    if ids and list(ids) != sorted(ids) and launch.trained is None:
        message = f"the ids {list(ids)} are captured in the order of layers, {sorted(ids)}"
        yield RULE.warn(
            message, "If fc was trained in the order of the ids, its columns must be put in that of layers."
        )
