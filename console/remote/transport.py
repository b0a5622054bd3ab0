"""The seam to a node: run one command, with byte streams to it. Nothing else is asked of a transport."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence


class Channel(Protocol):
    """One running command."""

    async def read(self, limit: int) -> bytes:
        """Up to `limit` bytes of its output; b"" at the end. Raises ConnectionError when the link broke."""
        ...

    async def read_error(self, limit: int) -> bytes:
        """The same for its error output."""
        ...

    async def write(self, data: bytes) -> None:
        """Send bytes to its input. Raises ConnectionError when it is gone."""
        ...

    def write_eof(self) -> None:
        """End its input."""
        ...

    async def wait(self) -> int | None:
        """Its exit status; None when the link broke first or a signal ended it."""
        ...

    def close(self) -> None:
        """Let go of it at once."""
        ...


class Transport(Protocol):
    """A way to a node."""

    name: str

    async def connect(self) -> None:
        """Reach the node. Raises Unreachable."""
        ...

    async def open(self, argv: Sequence[str]) -> Channel:
        """Start a command. Raises Unreachable."""
        ...

    async def close(self) -> None:
        """Hang up."""
        ...
