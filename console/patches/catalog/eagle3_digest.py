"""What EAGLE-3's captured states hold: mean, absmax, NaNs and a checksum for each, at the target and at the draft's fc.

Shapes cannot tell two wirings of one width apart; values can. The same checksum at `target.aux` and `draft.fc_in` says
that what was captured is what arrives; two states of one checksum, or one that equals the embedding, say that the wrong
layer was captured. Values are never read while a CUDA graph is captured, and a replayed graph runs none of this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.patches import eagle3
from console.patches.library import Insert, Option, Patch, record_options, runtime_file

if TYPE_CHECKING:
    from console.patches.anchor import Anchor

_TARGET = (Insert("target.aux", eagle3.A1, "after", 'digest("target.aux", self, aux_hidden_states, forward_batch)'),)


def _draft(a2: Anchor, _: Anchor) -> tuple[Insert, ...]:
    return (
        Insert("draft.fc_in", a2, "after", 'digest("draft.fc_in", self, hidden_states, forward_batch, embeds=embeds)'),
    )


PATCH = Patch(
    id="eagle3-digest",
    title="Digest every captured EAGLE-3 state: mean, absmax, NaNs and a checksum",
    env="EAGLE3_DIGEST",
    helper=runtime_file("eagle3_digest.py", path="srt/_spec_console_eagle3_digest.py"),
    edits=(*eagle3.targets(_TARGET), *eagle3.drafts(_draft)),
    options=(
        *record_options("EAGLE3_DIGEST", first=20, every=200, sites="target.aux, draft.fc_in"),
        Option("rows", "EAGLE3_DIGEST_ROWS", "64", "at most so many rows of a state are read, the first ones"),
    ),
)
