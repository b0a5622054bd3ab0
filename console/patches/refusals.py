"""Why a file does not take a patch: the two answers that planning gives instead of a new text."""

from __future__ import annotations


class Refusal(Exception):
    """A file gets no new text; `why` is one sentence in the user's words."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class NotApplicable(Refusal):
    """The file has nothing to instrument: this version does not do here what the patch looks at."""


class Conflict(Refusal):
    """The file should take the patch and cannot: the place is missing, doubled, or no line can be put there."""
