"""One `sh` on the node that is spoken with line by line, and what the login shell printed before it got the word."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from console.errors import ConsoleError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from console.remote.transport import Channel, Transport

MARK = "spec-console-begins"
MAX_NOISE = 64 * 1024
LIMIT = 256 * 1024
ANSWER_S = 10.0
"""For one line there and back, or 64 kB: 50 kbit/s do."""


class Silent(ConsoleError):
    """The node did not answer in time (`late`), or said something else."""

    def __init__(self, message: str, *, late: bool = False) -> None:
        super().__init__(message)
        self.late = late


class Talk:
    """A running script; `noise` is what came before its first word."""

    def __init__(self, channel: Channel) -> None:
        self.noise = b""
        self._channel = channel
        self._seen = b""

    async def begin(self) -> None:
        """Wait for the mark. Raises Silent."""
        before = await self._until(f"{MARK}\n".encode(), MAX_NOISE)
        self.noise = before

    async def ask(self, data: bytes) -> bytes:
        """Send a line and return the next one that comes, without its end. Raises Silent."""
        await self._send(data)
        return await self._until(b"\n", LIMIT)

    async def send_all(self, data: bytes) -> bytes:
        """Send everything, end the input, and return all output. Raises Silent."""
        await self._send(data)
        self._channel.write_eof()
        return await self.rest()

    async def rest(self, within_s: float | None = None) -> bytes:
        """Everything up to the end of its output. Raises Silent."""
        try:
            async with asyncio.timeout(within_s or ANSWER_S):
                while len(self._seen) < LIMIT and (part := await self._channel.read(LIMIT)):
                    self._seen += part
        except (TimeoutError, ConnectionError) as error:
            raise _silent(error) from None
        return self._seen

    async def _send(self, data: bytes) -> None:
        try:
            async with asyncio.timeout(ANSWER_S):
                await self._channel.write(data)
        except (TimeoutError, OSError) as error:
            raise _silent(error) from None

    async def _until(self, end: bytes, limit: int) -> bytes:
        try:
            async with asyncio.timeout(ANSWER_S):
                while end not in self._seen:
                    part = await self._channel.read(LIMIT)
                    if not part or len(self._seen) > limit:
                        raise Silent("the node ended it" if not part else f"more than {limit} bytes came instead")
                    self._seen += part
        except (TimeoutError, ConnectionError) as error:
            raise _silent(error) from None
        before, _, self._seen = self._seen.partition(end)
        return before


@asynccontextmanager
async def talk(transport: Transport, prefix: Sequence[str], script: str) -> AsyncIterator[Talk]:
    """Run a script of one line behind the exec prefix, and wait for its first word. Raises Silent, Unreachable."""
    try:
        async with asyncio.timeout(ANSWER_S):
            channel = await transport.open([*prefix, "sh", "-c", f"echo {MARK}; {script}"])
    except TimeoutError as error:
        raise _silent(error) from None
    talking = Talk(channel)
    try:
        await talking.begin()
        yield talking
    finally:
        channel.close()


def _silent(error: Exception) -> Silent:
    if isinstance(error, TimeoutError):
        return Silent(f"nothing came within {ANSWER_S:.0f} s", late=True)
    return Silent(f"the connection broke: {error}")
