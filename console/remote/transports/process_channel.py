"""A command as a child process of ours, its pipes as the channel: this machine's own, and those of `ssh`."""

from __future__ import annotations

import asyncio
import contextlib

END_S = 10.0
"""How long a child may take to end after its input did; the agent lets calls under way finish."""


class ProcessChannel:
    """A child process with pipes. It ends at the end of its input; `finish` waits for that."""

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
                await self._reap()
        except TimeoutError:
            self._kill()
            await self._reap()

    async def _reap(self) -> None:
        await asyncio.gather(self._drain(self._stdout), self._drain(self._stderr), self._process.wait())

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    @staticmethod
    async def _drain(stream: asyncio.StreamReader) -> None:
        while await stream.read(1 << 16):
            pass
