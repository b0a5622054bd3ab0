"""The draft's context is shorter than the server's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.launch.releases import is_within
from console.lint import asks
from console.lint.rule import Rule
from console.wiring import draft as drafts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import Launch
    from console.lint.finding import Finding

RULE = Rule(
    id="draft-context",
    title="The draft's context is shorter than the server's",
    why="SGLang gives the draft the target's context and refuses to start where that is longer than its own. "
    "Overridden, it starts, and past the length it was trained on it is slower than no draft.",
    source="configs/model_config.py _derive_context_length and eagle_worker_v2.py l.680 (0.5.12.post1); "
    "sgl-project/sglang issue 6783; SafeAILab/EAGLE issue 311; case A20",
)


OVERRIDE = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"
"""True by itself in 0.4.6.post1, false later."""


def check(launch: Launch) -> Iterator[Finding]:
    asked = asks.full(launch)
    own = drafts.context_length(launch.draft.config) if launch.draft else None
    targets = drafts.context_length(launch.target.config) if launch.target else None
    wanted = asked.number("context-length") or targets
    if asked.algorithm is None or own is None or wanted is None or wanted <= own:
        return
    by = "--context-length" if asked.number("context-length") else "the target's own context"
    evidence = f"{by} {wanted}, the draft's config {own}"
    if asked.switched_on(OVERRIDE) or is_within(launch.version, last="0.4.6.post1"):
        message = f"the draft knows {own} tokens of a context of {wanted}: past them it may be slower than no draft"
        yield RULE.warn(message, f"Give --context-length {own}, or probe with prompts beyond {own} tokens.", evidence)
    else:
        hint = f"Set {OVERRIDE}=1, or --context-length {own}."
        yield RULE.error(f"the draft's context is {own}, the server's {wanted}: it does not start", hint, evidence)
