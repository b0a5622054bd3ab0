"""A layer that is never captured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint import wired
from console.lint.evidence import quoting
from console.lint.rule import Rule
from console.wiring.layers import draft_ids

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import Launch, LogContext
    from console.lint.finding import Finding

RULE = Rule(
    id="ids-out-of-range",
    title="A layer that is never captured",
    why="A layer that does not exist, one that stands twice, or the embedding where it cannot be had: fewer "
    "states than fc wants, and a server that dies at its first request.",
    source="set_eagle3_layers_to_capture and the capture loops of models/*.py, 28 releases; each form run on CPU "
    "servers of 0.5.20",
)


def check(launch: Launch) -> Iterator[Finding]:
    draft, found = wired.eagle3_draft(launch), launch.resolution
    if draft is None or found is None or not found.draft.uses_aux:
        return
    hint = wired.ids_to_write(launch) or "Write the ids of the layers that it was trained on."
    evidence = f"ids {list(found.draft.ids) if found.draft.ids is not None else 'none'}, {found.layers} layers"
    if found.eager is not None:
        for fault in found.eager.faults:
            yield RULE.error(f"{fault} ({wired.on(launch)})", hint, evidence)
    elif found.layers is not None:
        ids = draft_ids(draft.config).ids or ()
        if len(set(ids)) < len(ids) or any(not -1 <= each <= found.layers for each in ids):
            yield RULE.error("an id stands twice, or is of no layer in any release", hint, evidence)


def explain(log: LogContext) -> Iterator[Finding]:
    """The embedding is captured as `hidden_states + residual`, and before layer 0 there is no residual."""
    for record in log.trouble("traceback"):
        frames = log.frames(record)
        if _NO_RESIDUAL in str(record.fields.get("sentence", "")) and frames and "/srt/models/" in frames[-1]:
            message = "the embedding was to be captured (an id of -1, or of 0), which this target cannot give"
            yield quoting(RULE.error(message, "Write the ids of the layers that it was trained on."), record)
            return


_NO_RESIDUAL = "unsupported operand type(s) for +: 'Tensor' and 'NoneType'"
