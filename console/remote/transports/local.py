"""This machine, without SSH: the command is a child process."""

from __future__ import annotations

import asyncio
import contextlib
import os
from typing import TYPE_CHECKING

from console.errors import Unreachable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


END_S = 10.0
"""How long a child may take to end after its input did; the agent lets calls under way finish."""


class LocalChannel:
    """A child process with pipes."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        self._process = process
        self._stdin, self._stdout, self._stderr = process.stdin, process.stdout, process.stderr

    async def read(self, limit: int) -> bytes:
        return await self._stdout.read(limit)

    async def read_error(self, limit: int) -> bytes:
        return await self._stderr.read(limit)

    async def write(self, data: bytes) -> None:
        self._stdin.write(data)
        await self._stdin.drain()

    def write_eof(self) -> None:
        with contextlib.suppress(OSError):
            self._stdin.close()

    async def wait(self) -> int | None:
        code = await self._process.wait()
        return code if code >= 0 else None

    def close(self) -> None:
        self.write_eof()

    async def finish(self) -> None:
        """End the input, read what is left, reap; a child that does not end by itself is killed."""
        self.close()
        try:
            async with asyncio.timeout(END_S):
                await asyncio.gather(self._drain(self._stdout), self._drain(self._stderr), self._process.wait())
        except TimeoutError:
            self._process.kill()
            await asyncio.gather(self._drain(self._stdout), self._drain(self._stderr), self._process.wait())

    @staticmethod
    async def _drain(stream: asyncio.StreamReader) -> None:
        while await stream.read(1 << 16):
            pass


class LocalTransport:
    """Runs commands here, with `env` on top of our environment."""

    name = "local"

    def __init__(self, env: Mapping[str, str] | None = None) -> None:
        self._env = {**os.environ, **(env or {})}
        self._channels: list[LocalChannel] = []

    async def connect(self) -> None:
        return None

    async def open(self, argv: Sequence[str]) -> LocalChannel:
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=self._env,
                # A Ctrl-C in the terminal must not hit the agent: it ends at EOF, in order.
                start_new_session=True,
            )
        except OSError as error:
            raise Unreachable(f"{argv[0]} cannot be started here: {error.strerror}") from None
        channel = LocalChannel(process)
        self._channels.append(channel)
        return channel

    async def close(self) -> None:
        channels, self._channels = self._channels, []
        await asyncio.gather(*(channel.finish() for channel in channels))
