"""The draft's vocabulary does not fit its weights or its target."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from console.lint import wired
from console.lint.evidence import quoting
from console.lint.log_wiring import weight_name, weight_shapes
from console.lint.rule import Rule
from console.wiring import draft as drafts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import Launch, LogContext
    from console.lint.finding import Finding
    from console.wiring.checkpoint import Checkpoint

RULE = Rule(
    id="draft-vocab",
    title="The draft's vocabulary does not fit its weights or its target",
    why="A draft speaks a part of the target's vocabulary and d2t maps it back. A head of another size does not "
    "load; a wrong map proposes other tokens, and none is accepted.",
    source="models/llama_eagle3.py 0.5.12.post1 l.274 and 0.5.20; load_weights of 28 releases (d2t + arange, t2d "
    "skipped); SafeAILab/EAGLE issue 249; case A12",
)


def check(launch: Launch) -> Iterator[Finding]:
    draft = wired.eagle3_draft(launch)
    if draft is None:
        return
    own = drafts.number(draft.config, "vocab_size")
    target = wired.target_number(launch, "vocab_size")
    if own and target and own != target:
        hint = "Is it this target's draft? A tokenizer with other ids gives no accepted token."
        yield RULE.warn(f"vocab_size is {own} in the draft, {target} in the target", hint)
    size = drafts.number(draft.config, "draft_vocab_size")
    if "draft_vocab_size" not in draft.config and _is_whole(draft):
        message = "the draft's config has no draft_vocab_size: its class fails when it is made"
        yield RULE.error(message, _size_hint(draft))
        return
    yield from _head(draft, size or own)
    yield from _map(draft, size or own, target or own)


def explain(log: LogContext) -> Iterator[Finding]:
    for record in log.trouble("traceback"):
        if told := _in_draft(str(record.fields.get("sentence", "")), log.frames(record)):
            yield quoting(RULE.error(*told), record)
            return
    for record in log.errors("size_mismatch", "weight_shape"):
        shapes, name = weight_shapes(record), weight_name(log, record) or "a weight"
        if shapes is None or name.endswith("fc.weight"):
            continue
        (has, columns), (wants, built_columns) = shapes
        if columns != built_columns or has == wants:
            continue
        message = f"{name} has {has} rows in the checkpoint, the server built it for {wants}: "
        message += "the draft's vocabulary against the target's"
        hint = f"The draft's config must say draft_vocab_size {has}, and its weights bring d2t of {has} entries; "
        hint += "run it as EAGLE3, which reads them."
        yield quoting(RULE.error(message, hint), record)
        return


def _in_draft(sentence: str, frames: tuple[str, ...]) -> tuple[str, str] | None:
    """Message and hint for an exception inside an EAGLE-3 draft that its vocabulary explains."""
    if not any("eagle3.py" in frame for frame in frames):
        return None
    if match := _HEAD.search(sentence):
        message = f"the draft's head has {match[2]} rows in the checkpoint, the server built it for {match[1]}"
        return message, f"The draft's config must say draft_vocab_size {match[2]}."
    if "has no attribute 'draft_vocab_size'" in sentence:
        hint = 'Write "draft_vocab_size": as many as its lm_head has rows.'
        return "the draft's config has no draft_vocab_size", hint
    if "index out of range in self" in sentence and any("vocab_parallel_embedding.py" in frame for frame in frames):
        # Tokens are split over ranks by the draft's own vocab_size, and the rows are the target's.
        message = "a token has no row in the draft's embedding: its vocab_size is not the target's"
        return message, "Is it this target's draft? Its vocab_size must be the target's."
    return None


_HEAD = re.compile(r"self\.org_vocab_size=(\d{1,9}) .{0,80}loaded_weight\.shape\[output_dim\]=(\d{1,9})")


def _is_whole(draft: Checkpoint) -> bool:
    """A whole config of the Llama-style draft, whose class reads the key without a default."""
    llama = drafts.architecture(draft.config) == "LlamaForCausalLMEagle3"
    return llama and "hidden_size" in draft.config and not draft.config.get("tie_word_embeddings")


def _size_hint(draft: Checkpoint) -> str:
    head = drafts.tensor(draft, "lm_head.weight")
    return f'Write "draft_vocab_size": {head.shape[0] if head and head.shape else "null"}.'


def _head(draft: Checkpoint, size: int | None) -> Iterator[Finding]:
    head = drafts.tensor(draft, "lm_head.weight")
    if (
        head is not None
        and head.shape
        and size
        and head.shape[0] != size
        and not draft.config.get("tie_word_embeddings")
    ):
        message = f"lm_head has {head.shape[0]} rows, the draft's vocabulary {size} tokens: it does not load"
        hint = f'Draft vocabulary against target vocabulary: write "draft_vocab_size": {head.shape[0]}.'
        yield RULE.error(message, hint, f"lm_head.weight {list(head.shape)}")


def _map(draft: Checkpoint, size: int | None, target: int | None) -> Iterator[Finding]:
    d2t, values, marks = drafts.tensor(draft, "d2t"), draft.values.get("d2t"), draft.values.get("t2d")
    if draft.tensors is not None and d2t is None and size and target and size < target:
        message = f"no d2t: {size} draft tokens are taken for the first {size} of the target's {target}"
        yield RULE.error(message, "Export the draft with its vocabulary map.")
    if d2t is not None and d2t.shape and size and d2t.shape[0] != size:
        yield RULE.error(f"d2t maps {d2t.shape[0]} tokens, the draft's vocabulary has {size}", _MAP_HINT)
    if values:
        ids = [at + offset for at, offset in enumerate(values)]
        if any(later <= earlier for earlier, later in pairwise(ids)) or ids[0] < 0:
            message = "d2t is not increasing: i + d2t[i] must be the target's id of draft token i"
            yield RULE.error(message, "Perhaps it holds ids, not differences.", f"first ids {ids[:5]}")
        elif target and ids[-1] >= target:
            yield RULE.error(f"d2t maps to token {ids[-1]}, the target has {target}", _MAP_HINT)
        elif marks and sum(marks) == len(ids) and any(at >= len(marks) or not marks[at] for at in ids):
            hint = f"{_MAP_HINT} SGLang reads d2t alone, and a token that is named wrongly is never accepted."
            yield RULE.warn("d2t and t2d are of different tokens", hint, f"first ids by d2t {ids[:5]}")
    if marks and size and sum(marks) != size:
        yield RULE.warn(
            f"t2d marks {sum(marks)} tokens, the draft's vocabulary has {size}", "SGLang does not read t2d."
        )


_MAP_HINT = "The map is of another draft, or of another target."
