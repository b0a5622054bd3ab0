"""Puts the questions of connecting over the screen, one modal each, and hands the answer back."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from console.units import plain

if TYPE_CHECKING:
    from textual.app import App

    from console.remote.prompts import Ask, Question

MAX_TOLD = 300


def on_screen(app: App[Any]) -> Ask:
    """How to ask in this app, from whatever task a transport asks in."""

    async def ask(question: Question) -> str | None:
        if not question.answered:
            app.notify(plain(question.text[:MAX_TOLD]), title=plain(question.asker), markup=False)
            return ""
        asked = _Asked(app, question)
        app.call_later(asked.show)
        try:
            return await asked.answer
        finally:
            app.call_later(asked.take_away)

    return ask


class _Asked:
    """One question under way; a transport that gives up waiting takes its modal away."""

    def __init__(self, app: App[Any], question: Question) -> None:
        from console.tui.modals.question import QuestionModal

        self.answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._app = app
        self._modal = QuestionModal(question)

    def show(self) -> None:
        if not self.answer.done():
            self._app.push_screen(self._modal, self._take)

    def take_away(self) -> None:
        if self._modal.is_current:
            self._modal.dismiss(None)

    def _take(self, answer: str | None) -> None:
        if not self.answer.done():
            self.answer.set_result(answer)
