"""What can happen to an action, in the past tense: a part of `events`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ActionAsked:
    """An action was asked for and is being planned; nothing changes on the node yet."""

    id: str
    title: str


@dataclass(frozen=True, slots=True)
class ActionPlanned:
    """The plan is shown, and waits for the user's answer."""


@dataclass(frozen=True, slots=True)
class ActionDeclined:
    """The plan was shown and not confirmed."""


@dataclass(frozen=True, slots=True)
class ActionStarted:
    """The plan was confirmed."""


@dataclass(frozen=True, slots=True)
class ActionSaid:
    """The running action told one line."""

    line: str


@dataclass(frozen=True, slots=True)
class ActionFinished:
    """The action ended and was measured; `ok` False is a negative result."""

    ok: bool
    proof: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ActionFailed:
    """The action or its planning ended with an error; `unknown`: whether it was done is not known."""

    message: str
    unknown: bool = False


@dataclass(frozen=True, slots=True)
class ActionCancelled:
    """The user took the action back while it ran; what it had started stays."""
