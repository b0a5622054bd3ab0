"""How a transport says that a node cannot be reached: the same words whichever library met it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.errors import Unreachable

if TYPE_CHECKING:
    from console.remote.prompts import Questions


class NotLetIn(Unreachable):
    """The node, or our own rule about its host key, says no: it will say so again until a person has done something."""


def refused_us(host: str, reason: str, questions: Questions | None = None) -> Unreachable:
    """None of our keys or answers was taken; what stayed unanswered is said."""
    why = questions.why if questions else ""
    if not why:
        hint = f"Try `ssh {host}`; is the key in the agent, or named in ~/.ssh/config?"
        return NotLetIn(f"{host} refused us: {reason}", hint)
    hint = "Connect again to be asked again; nothing of an answer is kept."
    if questions and not questions.can_ask:
        hint = (
            "Give the key to the ssh agent (`ssh-add KEY`), or run a verb on a terminal: over `transport: openssh` its "
            "connection serves the verbs that follow."
        )
    return NotLetIn(f"{host} refused us: {reason}; {why}", hint)


def not_reached(host: str, reason: str) -> Unreachable:
    return Unreachable(f"{host} cannot be reached: {reason}", f"Try `ssh {host}`.")


def no_answer(host: str, timeout_s: float) -> Unreachable:
    return Unreachable(f"{host} did not answer within {timeout_s:.0f} s", f"Try `ssh -v {host}`.")


def bad_config(reason: str) -> Unreachable:
    return Unreachable(f"the ssh configuration cannot be used: {reason}")


def no_channel(host: str, reason: str) -> Unreachable:
    return Unreachable(f"{host}: no channel for a command: {reason}", "The node may limit sessions or commands.")
