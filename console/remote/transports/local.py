"""This machine, without SSH: the command is a child process."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from console.errors import Unreachable
from console.remote.transports.process_channel import ProcessChannel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class LocalTransport:
    """Runs commands here, with `env` on top of our environment."""

    name = "local"

    def __init__(self, env: Mapping[str, str] | None = None) -> None:
        self._env = {**os.environ, **(env or {})}
        self._channels: list[ProcessChannel] = []

    async def connect(self) -> None:
        return None

    async def open(self, argv: Sequence[str]) -> ProcessChannel:
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
        channel = ProcessChannel(process)
        self._channels.append(channel)
        return channel

    async def close(self) -> None:
        channels, self._channels = self._channels, []
        await asyncio.gather(*(channel.finish() for channel in channels))
