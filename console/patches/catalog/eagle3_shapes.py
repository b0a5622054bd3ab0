"""Shape records of what EAGLE-3 passes on: captured states, what is concatenated and stored, the draft's fc.

Anchor A3 holds from SGLang 0.4.6.post1 to 0.5.23, the others as `console/patches/eagle3.py` says. `target.aux` in
llama.py also fires for a LlamaForCausalLMEagle3 draft, which inherits that forward: the record names the model.
"""

from __future__ import annotations

import ast

from console.patches import eagle3
from console.patches.anchor import Anchor, ClassRule
from console.patches.library import FileEdit, Insert, Patch, record_options, runtime_file

A3 = Anchor(
    "A3",
    ast.If,
    ("logits_metadata.capture_hidden_mode.need_capture()",),
    needs="capture_hidden_mode",
    absent="this logits processor keeps no hidden states",
    cls=ClassRule("LogitsProcessor"),
    top_level=True,
)

# In LAST mode the pruned states are concatenated. Read as the anchored statement itself goes on to read them.
_CONCATENATED = (
    "aux_hidden_states if logits_metadata.capture_hidden_mode.is_full() else aux_pruned_states"
    " if logits_metadata.capture_hidden_mode.is_last() and aux_hidden_states is not None else None"
)
_LOGITS = (
    Insert(
        "logits.cat_in",
        A3,
        "before",
        f'record("logits.cat_in", self, {_CONCATENATED}, logits_metadata)',
        assumes=frozenset({"aux_pruned_states"}),
    ),
    Insert("logits.stored", A3, "after", 'record("logits.stored", self, hidden_states_to_store, logits_metadata)'),
)
_TARGET = (Insert("target.aux", eagle3.A1, "after", 'record("target.aux", self, aux_hidden_states, forward_batch)'),)


def _draft(a2: Anchor, a2_after: Anchor) -> tuple[Insert, ...]:
    return (
        Insert("draft.fc_in", a2, "after", 'record("draft.fc_in", self, hidden_states, forward_batch)'),
        Insert("draft.fc_out", a2_after, "after", 'record("draft.fc_out", self, hidden_states, forward_batch)'),
    )


PATCH = Patch(
    id="eagle3-shapes",
    title="Print the shape of every EAGLE-3 tensor: captures, concatenation, the draft's fc",
    env="EAGLE3_DEBUG",
    helper=runtime_file("eagle3_shapes.py", path="srt/_spec_console_eagle3.py"),
    edits=(
        FileEdit("srt/layers/logits_processor.py", _LOGITS),
        *eagle3.targets(_TARGET),
        *eagle3.drafts(_draft),
    ),
    options=record_options(
        "EAGLE3_DEBUG",
        first=200,
        every=100,
        sites="target.aux, logits.cat_in, logits.stored, draft.fc_in, draft.fc_out",
    ),
)
