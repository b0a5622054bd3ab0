"""Owns what a server's command says of its speculation, for a line beside accept_len: 3.1 of which draft, how deep?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from console.probe.differences import flags_of

if TYPE_CHECKING:
    from collections.abc import Iterable

_FLAGS = {
    "algorithm": "speculative_algorithm",
    "steps": "speculative_num_steps",
    "topk": "speculative_eagle_topk",
    "draft_tokens": "speculative_num_draft_tokens",
    "draft": "speculative_draft_model_path",
}


@dataclass(frozen=True, slots=True)
class Speculation:
    """The flags as they were given; None: not given, and SGLang chose."""

    algorithm: str
    steps: str | None
    topk: str | None
    draft_tokens: str | None
    draft: str | None

    @property
    def form(self) -> str:
        """chain (topk 1) or tree; a tree drafts more, and costs more to verify. Empty where topk was not given."""
        return "" if self.topk is None else "chain" if self.topk == "1" else "tree"

    def text(self) -> str:
        """As "EAGLE3 5/1/6 chain, draft /models/draft": steps, topk, draft tokens."""
        numbers = "/".join(each or "auto" for each in (self.steps, self.topk, self.draft_tokens))
        draft = f", draft {self.draft}" if self.draft else ""
        return f"{self.algorithm} {numbers} {self.form}".strip() + draft


def speculation_of(argv: Iterable[str]) -> Speculation | None:
    """Read a command; None without speculation."""
    flags = flags_of(argv)
    given = {name: flags.get(flag) for name, flag in _FLAGS.items()}
    algorithm = given.pop("algorithm")
    return Speculation(algorithm, **given) if algorithm else None
