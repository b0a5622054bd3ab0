"""Layer ids stand where SGLang does not read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint import wired
from console.lint.rule import Rule
from console.wiring.layers import KEY, SECTION, draft_ids, resolve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import Launch
    from console.lint.finding import Finding

RULE = Rule(
    id="ids-ignored",
    title="Layer ids stand where SGLang does not read them",
    why="Only ids in eagle_config reach the target. At the top level (speculators, vLLM) they are passed over, "
    "and the default layers are captured.",
    source="model_runner.py 0.5.2 l.406 to 0.5.23, within a bare try; ids at the top level run on 2 × H200",
)


def check(launch: Launch) -> Iterator[Finding]:
    draft = wired.eagle3_draft(launch)
    if draft is None:
        return
    said = draft_ids(draft.config)
    if said.unreadable:
        yield RULE.warn(f"eagle_config.{said.unreadable}", "Write a list such as [2, 30, 58].")
    elif said.ids is None and said.top_level:
        hint = f'Move them: "{SECTION}": {{"{KEY}": …}}, after a look at what ids mean (docs/wiring.md).'
        yield RULE.warn(
            f"the ids {draft.config[KEY]} at the top level are not read: the default is captured", hint, _both(launch)
        )


def _both(launch: Launch) -> str:
    """What is captured, and what the same ids would capture in the right place."""
    found, draft = launch.resolution, launch.draft
    if found is None or found.eager is None or launch.target is None or draft is None:
        return ""
    nested = resolve(launch.version, launch.target.config, {SECTION: {KEY: draft.config[KEY]}}).eager
    there = f"; nested, they would capture {wired.outputs(nested.outputs)}" if nested else ""
    return f"captured: outputs of layers {wired.outputs(found.eager.outputs)}{there}"
