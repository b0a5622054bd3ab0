"""What connecting may have to ask the person at the keyboard: the seam between transports and whoever shows it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

TRIES = 3
"""For a passphrase, as in ssh; a server counts its own."""
ANSWER_S = 120.0
"""How long a question stands: OpenSSH's server gives a login 120 s (LoginGraceTime)."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question of the node, of a jump host or of a key. `text` is hostile and shown plain; the rest is our own."""

    text: str
    secret: bool = True
    """Whether the answer must not be seen while it is typed."""
    answered: bool = True
    """False: it only tells something, such as that a hardware key waits to be touched."""
    what: str = "an answer"
    """What is asked for: "a password", "the passphrase of PATH"."""
    asker: str = ""
    """Who asks: the node, or a jump host."""


Ask = Callable[[Question], Coroutine[Any, Any, str | None]]
"""Show a question and return the answer; None when the user gives none."""


class Questions:
    """Everything that is asked on one way to a node. Once one stays unanswered no other is put: that was a no."""

    def __init__(self, ask: Ask | None) -> None:
        self._ask = ask
        self._left: Question | None = None

    @property
    def can_ask(self) -> bool:
        return self._ask is not None

    def anew(self) -> Questions:
        """The same for another try."""
        return Questions(self._ask)

    async def put(self, question: Question) -> str | None:
        """Ask; None where nobody is there, or nobody answers. No answer is kept."""
        if self._left is not None:
            return None
        answer = await self._answer(question)
        if answer is None and question.answered:
            self.leave(question)
        return answer

    async def _answer(self, question: Question) -> str | None:
        try:
            async with asyncio.timeout(ANSWER_S):
                return await self._ask(question) if self._ask else None
        except TimeoutError:
            return None

    def leave(self, question: Question) -> None:
        """Note what would have to be answered."""
        self._left = self._left or question

    @property
    def why(self) -> str:
        """What stayed unanswered and why, in words; "" when nothing did."""
        if self._left is None:
            return ""
        if self._ask is None:
            return f"it asks for {self._left.what}, and there is no terminal to ask on"
        return f"the question for {self._left.what} was not answered"


def passphrase(path: str, asker: str, again: bool) -> Question:
    """The question that opens a key file."""
    text = f"{'That did not open it. ' if again else ''}Passphrase of {path}: "
    return Question(text, what=f"the passphrase of {path}", asker=asker)


def password(node: str) -> Question:
    return Question(f"{node}'s password: ", what="a password", asker=node)
