"""SSH by the system's `ssh`: every option of ssh_config, hardware keys, GSSAPI, masters that are already open.

One master connection carries the commands: the user's own, where their ControlPath leads to a living one; else ours, on
a socket in a private folder, that lasts a while after the console (ControlPersist) for the next verb. Questions are
asked through `ask` (askpass.py); without it ssh runs in BatchMode. A host key is never a question: see host_keys.py.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import shlex
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from console.errors import Unreachable
from console.remote.prompts import Questions
from console.remote.transports import failures, host_keys, key_files, ssh_config, ssh_failure
from console.remote.transports.askpass import Askpass
from console.remote.transports.private_folder import private_folder
from console.remote.transports.process_channel import ProcessChannel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.remote.prompts import Ask
    from console.remote.transports.ssh_config import Effective

CONNECT_TIMEOUT_S = 30
ANSWER_TIMEOUT_S = 300.0
"""For the whole of connecting, when a person has to answer."""
WORKS_S = 10.0
PERSIST_S = 60
MAX_LOG = 256 * 1024
_NAME = 16

_QUIET = (
    # What the user's configuration may add to an interactive session has no place in this one.
    *("-T", "-x", "-a"),
    *("-o", "RemoteCommand=none", "-o", "ClearAllForwardings=yes", "-o", "PermitLocalCommand=no"),
    *("-o", "VisualHostKey=no", "-o", "ServerAliveInterval=10", "-o", "ServerAliveCountMax=3"),
)


class SshChannel(ProcessChannel):
    """One command over the master; its process is a client that can be ended at any time."""

    async def wait(self) -> int | None:
        code = await super().wait()
        return None if code == 255 else code  # ssh(1): 255 if an error occurred, or a signal ended the command

    def close(self) -> None:
        # Its pipes too: the master has them as well, and keeps them for as long as the node does not answer.
        self._process._transport.close()  # type: ignore[attr-defined]

    async def finish(self) -> None:
        self.close()
        await self._process.wait()


class OpensshTransport:
    """The way of `ssh host`; `host` is an alias of the user's ssh_config or a host name."""

    name = "openssh"

    def __init__(
        self, host: str, *, user: str | None = None, accept_new_host_key: bool = False, ask: Ask | None = None
    ) -> None:
        self._host = host
        self._accept_new = accept_new_host_key
        self._ask = ask
        self.log = ""
        """What ssh said while it logged in; "" where a master was there already."""
        self._words = [*(["-l", user] if user else []), *_QUIET]
        self._socket = ""
        self._channels: list[SshChannel] = []

    async def connect(self) -> None:
        self.log = ""
        config = await ssh_config.effective(self._host, self._words)
        theirs = ssh_config.live_master(config)
        if theirs and await self._works(theirs):
            self._socket = theirs
            return
        path = private_folder(_NAME) / _name(config)
        if not (ssh_config.answers(path) and await self._works(str(path))):
            await self._let_go(path)
            await self._start_master(path, config)
        self._socket = str(path)

    async def open(self, argv: Sequence[str]) -> SshChannel:
        if not self._socket:
            raise Unreachable(f"not connected to {self._host}")
        process = await asyncio.create_subprocess_exec(
            *self._command_words(self._socket),
            shlex.join(argv),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            # A Ctrl-C in the terminal must not hit it: the agent ends at EOF, in order.
            start_new_session=True,
        )
        channel = SshChannel(process)
        self._channels.append(channel)
        return channel

    async def close(self) -> None:
        channels, self._channels = self._channels, []
        await asyncio.gather(*(channel.finish() for channel in channels))

    async def _start_master(self, path: Path, config: Effective) -> None:
        questions = Questions(self._ask)
        with tempfile.NamedTemporaryFile("a+b", prefix="ssh-", suffix=".log", dir=path.parent) as log:
            words = self._master_words(path, config, log.name)
            async with Askpass(path.parent, questions, self._host, accept_new_host_key=self._accept_new) as askpass:
                code = await self._run(words, log.fileno(), askpass.env)
            log.seek(0)
            self.log = log.read(MAX_LOG).decode("utf-8", "replace")
        if code != 0:
            if self._ask is None and (left := ssh_failure.not_asked(self.log, _is_locked)):
                questions.leave(left)
            way = ssh_failure.Way(_target(self._host, config), _files(config), _address(config))
            raise ssh_failure.failure(way, self.log, askpass.refused, questions)

    def _master_words(self, path: Path, config: Effective, log: str) -> list[str]:
        persist = ssh_config.first(config, "controlpersist") in ("", "no", "false")
        timeout = not ssh_config.first(config, "connecttimeout")
        return [
            *("ssh", *self._words, "-M", "-S", str(path), "-f", "-N", "-v", "-E", log),  # -v: of jump hosts too
            *(("-o", f"ControlPersist={PERSIST_S}") if persist else ()),
            *(("-o", f"ConnectTimeout={CONNECT_TIMEOUT_S}") if timeout else ()),
            *(("-o", "BatchMode=yes") if self._ask is None else ()),
            *(*self._host_key_words(), "--", self._host),
        ]

    def _host_key_words(self) -> tuple[str, ...]:
        return ("-o", f"StrictHostKeyChecking={'accept-new' if self._accept_new else 'yes'}")

    async def _run(self, argv: Sequence[str], log: int, env: dict[str, str]) -> int:
        """Run an ssh that goes into the background once it is connected; its status."""
        # Its streams are files: what stays in the background must not hold a pipe of ours.
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=log,
            env={**os.environ, **env},
            start_new_session=True,
        )
        limit = ANSWER_TIMEOUT_S if self._ask else CONNECT_TIMEOUT_S + 15.0
        try:
            async with asyncio.timeout(limit):
                return await process.wait()
        except TimeoutError:
            raise failures.no_answer(self._host, limit) from None
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()

    def _command_words(self, socket: str) -> list[str]:
        return [
            *("ssh", *self._words, "-S", socket, "-o", "ControlMaster=no", "-o", "LogLevel=ERROR"),
            *(*self._host_key_words(), "-o", "BatchMode=yes", "--", self._host),
        ]

    async def _works(self, socket: str) -> bool:
        """Whether a master that answers here is still heard at the node: its network may have gone under it."""
        process = await _start([*self._command_words(socket), "true"])
        try:
            async with asyncio.timeout(WORKS_S):
                return await process.wait() != 255
        except TimeoutError:
            return False
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()

    async def _let_go(self, path: Path) -> None:
        """A master that hangs takes no more commands, and ends with those that it has."""
        if ssh_config.answers(path):
            await (await _start(["ssh", "-S", str(path), "-O", "stop", "--", self._host])).wait()


async def _start(argv: Sequence[str]) -> asyncio.subprocess.Process:
    """A client of a master that says nothing and is told nothing."""
    null = asyncio.subprocess.DEVNULL
    return await asyncio.create_subprocess_exec(*argv, stdin=null, stdout=null, stderr=null, start_new_session=True)


def _name(config: Effective) -> str:
    """A name for the way to a host: another configuration is another way."""
    lines = sorted(f"{option} {value}" for option, values in config.items() for value in values)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:_NAME]


def _target(node: str, config: Effective) -> host_keys.Target:
    if alias := ssh_config.first(config, "hostkeyalias"):
        return host_keys.Target(node, alias)  # an alias has no port
    return host_keys.Target(node, *_address(config))


def _is_locked(path: str) -> bool:
    return key_files.is_locked(Path(path))


def _address(config: Effective) -> tuple[str, int]:
    return ssh_config.first(config, "hostname"), int(ssh_config.first(config, "port") or host_keys.SSH_PORT)


def _files(config: Effective) -> list[Path]:
    user, system = (
        " ".join(config.get(option, ())).split() for option in ("userknownhostsfile", "globalknownhostsfile")
    )
    return host_keys.files_of(user, system)
