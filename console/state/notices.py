"""The slice of notices: each is shown once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.state.events import Noticed
from console.state.model import Notice, NoticesState

if TYPE_CHECKING:
    from console.state.events import Event

RECENT_LIMIT = 20


def reduce(state: NoticesState, event: Event) -> NoticesState:
    if isinstance(event, Noticed):
        notice = Notice(state.last + 1, event.severity, event.text)
        return NoticesState(notice.number, (*state.recent, notice)[-RECENT_LIMIT:])
    return state
