"""The draft's hidden size does not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint import asks, wired
from console.lint.evidence import quoting
from console.lint.log_wiring import MIN_HIDDEN_SIZE, weight_name, weight_shapes, wiring_of
from console.lint.rule import Rule
from console.wiring import draft as drafts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import Launch, LogContext
    from console.lint.finding import Finding
    from console.wiring.checkpoint import Checkpoint

RULE = Rule(
    id="hidden-size",
    title="The draft's hidden size does not fit",
    why="A draft as wide as the target shares its embedding; another one needs its own, and target_hidden_size. "
    "Shapes that do not agree fail late, or load nothing: STANDALONE runs until two batches are merged.",
    source="models/llama_eagle3.py, models/llama.py set_embed (0.5.20 l.871); sgl-project/sglang issue 24215 "
    "(STANDALONE), PR 4716; cases A18, A19",
)


def check(launch: Launch) -> Iterator[Finding]:
    target = wired.target_number(launch, "hidden_size")
    draft = wired.eagle3_draft(launch)
    if draft is not None:
        yield from _eagle3(draft, target)
    elif launch.draft is not None and target:
        yield from _other(launch.draft, target, asks.full(launch).algorithm)


def explain(log: LogContext) -> Iterator[Finding]:
    yield from _fc_rows(log)
    for record in log.errors("concatenate"):
        first, second = record.fields["expected"], record.fields["got"]
        if record.fields["dimension"] != 0 or not (isinstance(first, int) and isinstance(second, int)):
            continue
        if min(first, second) < MIN_HIDDEN_SIZE:
            continue
        wiring = wiring_of(log)
        named = {wiring.draft_hidden_size: "the draft's hidden size", wiring.hidden_size: "the target's hidden size"}
        told = [f"{size} ({named[size]})" if size in named else str(size) for size in (first, second)]
        message = f"hidden states {told[0]} and {told[1]} wide were concatenated"
        if not named.keys() - {None}:
            message += ": probably the hidden sizes of target and draft"
        hint = "Take a draft of the target's hidden size; with STANDALONE run one request at a time until it is fixed."
        yield quoting(RULE.error(message, hint), record)
        return


def _fc_rows(log: LogContext) -> Iterator[Finding]:
    for record in log.errors("size_mismatch", "weight_shape"):
        shapes = weight_shapes(record)
        if shapes is None or shapes[0][0] == shapes[1][0] or not weight_name(log, record).endswith("fc.weight"):
            continue
        message = f"fc gives {shapes[0][0]} in the checkpoint, the server built it for {shapes[1][0]}: its hidden_size"
        yield quoting(RULE.error(message, _CONFIG), record)
        return


def _eagle3(draft: Checkpoint, target: int | None) -> Iterator[Finding]:
    own, fc, query = drafts.number(draft.config, "hidden_size"), drafts.tensor(draft, "fc.weight"), drafts.query(draft)
    if own and fc is not None and fc.shape and fc.shape[0] != own:
        yield RULE.error(f"fc gives {fc.shape[0]}, hidden_size is {own}", _CONFIG, f"fc.weight {list(fc.shape)}")
    if own and query is not None and query[1].shape[1] != 2 * own:
        name, tensor = query
        message = f"the query projection takes {tensor.shape[1]}, not 2 × {own}: embedding and state side by side"
        yield RULE.error(message, _CONFIG, f"{name} {list(tensor.shape)}")
    embedding = drafts.tensor(draft, "embed_tokens.weight")
    if own and target and own != target and draft.tensors is not None and embedding is None:
        message = f"the draft is {own} wide, the target {target}, and the draft has no embed_tokens of its own"
        yield RULE.error(message, "Only equal widths can share the target's embedding: export the draft with its own.")


def _other(draft: Checkpoint, target: int, algorithm: str | None) -> Iterator[Finding]:
    own = drafts.number(drafts.text_config(draft.config), "hidden_size")
    if own is None or own == target:
        return
    evidence = f"target hidden {target}, draft hidden {own}"
    if algorithm == "STANDALONE":
        message = f"STANDALONE with a draft {own} wide beside a target {target} wide: batches cannot be merged"
        hint = "Seen in 2026-05: a crash when two requests meet. One request at a time, or a newer release."
        yield RULE.warn(message, hint, evidence)
    elif drafts.family(draft.config) == "eagle":
        message = f"an EAGLE-1/2 draft {own} wide cannot take states {target} wide"
        yield RULE.error(message, "It is another target's draft.", evidence)


_CONFIG = "The config is not of these weights."
