"""How a transport says that a node cannot be reached: the same words whichever library met it."""

from __future__ import annotations

from console.errors import Unreachable


def refused_us(host: str, reason: str) -> Unreachable:
    """None of our keys or answers was taken."""
    hint = f"Try `ssh {host}`; is the key in the agent, or named in ~/.ssh/config?"
    return Unreachable(f"{host} refused us: {reason}", hint)


def not_reached(host: str, reason: str) -> Unreachable:
    return Unreachable(f"{host} cannot be reached: {reason}", f"Try `ssh {host}`.")


def no_answer(host: str, timeout_s: float) -> Unreachable:
    return Unreachable(f"{host} did not answer within {timeout_s:.0f} s", f"Try `ssh -v {host}`.")


def bad_config(reason: str) -> Unreachable:
    return Unreachable(f"the ssh configuration cannot be used: {reason}")


def no_channel(host: str, reason: str) -> Unreachable:
    return Unreachable(f"{host}: no channel for a command: {reason}", "The node may limit sessions or commands.")
