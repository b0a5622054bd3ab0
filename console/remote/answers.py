"""The agent's answers as messages: one of another form is an error that is told, whatever made it so."""

from __future__ import annotations

from typing import Any, TypeVar

from console.errors import NodeLost
from remote_agent import protocol

T = TypeVar("T")


class Malformed(NodeLost):
    """The agent answered in another form than was agreed."""

    def __init__(self, why: object) -> None:
        super().__init__(
            f"the agent's answer has another form than was agreed: {why}",
            "Connect again; if it says so again, it is not the agent that this console brought.",
        )


def from_wire(cls: type[T], data: Any) -> T:
    """Build a message. Raises Malformed."""
    try:
        return protocol.from_wire(cls, data)
    except protocol.ProtocolError as error:
        raise Malformed(error) from None


def from_base64(text: str) -> bytes:
    """Bytes as they were. Raises Malformed."""
    try:
        return protocol.from_base64(text)
    except protocol.ProtocolError as error:
        raise Malformed(error) from None
