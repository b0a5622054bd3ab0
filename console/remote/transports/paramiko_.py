"""SSH by paramiko: a second implementation of the protocol, for a node that another client cannot talk to.

Thin: blocking calls on threads of its own. It reads HostName, Port, User, IdentityFile, IdentitiesOnly, HostKeyAlias
and UserKnownHostsFile of ssh_config; a way through other hosts (ProxyJump, ProxyCommand) is refused, not ignored.
"""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import shlex
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import paramiko

from console.errors import Unreachable
from console.remote import prompts
from console.remote.prompts import Question, Questions
from console.remote.transports import failures, host_keys, key_files
from console.remote.transports.host_keys import HostKey, Target

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from console.remote.prompts import Ask

T = TypeVar("T")

CONNECT_TIMEOUT_S = 30.0
KEEPALIVE_S = 10
_PER_CHANNEL = 4
"""Blocking calls at a time: both outputs, the input, the exit status."""


class ParamikoChannel:
    """One command; each call blocks a thread of the channel's own."""

    def __init__(self, channel: paramiko.Channel) -> None:
        self._channel = channel
        self._threads = ThreadPoolExecutor(_PER_CHANNEL, "paramiko-channel")

    async def read(self, limit: int) -> bytes:
        return await self._call(lambda: self._channel.recv(limit))

    async def read_error(self, limit: int) -> bytes:
        return await self._call(lambda: self._channel.recv_stderr(limit))

    async def write(self, data: bytes) -> None:
        await self._call(lambda: self._channel.sendall(data))

    def write_eof(self) -> None:
        with contextlib.suppress(OSError, EOFError):
            self._channel.shutdown_write()

    async def wait(self) -> int | None:
        status = await self._call(self._channel.recv_exit_status)
        return status if status >= 0 else None

    def close(self) -> None:
        with contextlib.suppress(OSError, EOFError):
            self._channel.close()
        self._threads.shutdown(wait=False)

    async def _call(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        except (OSError, EOFError, RuntimeError, paramiko.SSHException) as error:
            raise ConnectionError(str(error) or "the channel is closed") from None


class ParamikoTransport:
    """One SSH connection to `host`, an alias of the user's ssh_config or a host name."""

    name = "paramiko"

    def __init__(
        self, host: str, *, user: str | None = None, accept_new_host_key: bool = False, ask: Ask | None = None
    ) -> None:
        self._host = host
        self._user = user
        self._accept_new = accept_new_host_key
        self._questions = Questions(ask)
        self._client: paramiko.SSHClient | None = None
        self._channels: list[ParamikoChannel] = []

    async def connect(self) -> None:
        config = _config(self._host)
        self._questions = self._questions.anew()
        loop = asyncio.get_running_loop()
        self._client = await asyncio.to_thread(self._connect, config, loop)

    async def open(self, argv: Sequence[str]) -> ParamikoChannel:
        transport = self._client.get_transport() if self._client else None
        if transport is None:
            raise Unreachable(f"not connected to {self._host}")
        try:
            channel = ParamikoChannel(await asyncio.to_thread(_execute, transport, shlex.join(argv)))
        except (paramiko.SSHException, OSError, EOFError) as error:
            raise failures.no_channel(self._host, str(error) or type(error).__name__) from None
        self._channels.append(channel)
        return channel

    async def close(self) -> None:
        client, self._client = self._client, None
        channels, self._channels = self._channels, []
        for channel in channels:
            channel.close()
        if client:
            await asyncio.to_thread(client.close)

    def _connect(self, config: paramiko.SSHConfigDict, loop: asyncio.AbstractEventLoop) -> paramiko.SSHClient:
        judge = _Judge(self._host, config, self._accept_new)
        client = paramiko.SSHClient()
        client.set_missing_host_key_policy(judge)
        try:
            self._log_in(client, config, judge, loop)
        except BaseException as error:
            client.close()
            if isinstance(error, paramiko.AuthenticationException):
                raise failures.refused_us(self._host, str(error), self._questions) from None
            if isinstance(error, TimeoutError):
                raise failures.no_answer(self._host, CONNECT_TIMEOUT_S) from None
            if isinstance(error, (paramiko.SSHException, OSError, EOFError)):
                raise failures.not_reached(self._host, str(error) or type(error).__name__) from None
            raise
        return client

    def _log_in(
        self, client: paramiko.SSHClient, config: paramiko.SSHConfigDict, judge: _Judge, loop: asyncio.AbstractEventLoop
    ) -> None:
        user = self._user or config.get("user") or getpass.getuser()
        alone = config.get("identitiesonly", "no") == "yes"
        keys = key_files.there(config.get("identityfile"))
        locked = [path for path in keys if key_files.is_locked(path)]
        try:
            client.connect(
                judge.target.host if "hostkeyalias" not in config else config["hostname"],
                int(config.get("port", host_keys.SSH_PORT)),
                user,
                key_filename=[str(path) for path in keys if path not in locked],
                allow_agent=not alone,
                look_for_keys=False,
                timeout=CONNECT_TIMEOUT_S,
                transport_factory=judge.transport,
            )
        except paramiko.SSHException as error:
            transport = client.get_transport()
            if not _wants_answers(error, transport) or not (locked or self._questions.can_ask):
                raise
            assert transport
            self._answer(transport, user, locked, loop)

    def _answer(
        self, transport: paramiko.Transport, user: str, locked: Sequence[Path], loop: asyncio.AbstractEventLoop
    ) -> None:
        """Log in by what the person says: a passphrase, answers (a password and a code, maybe), a password."""

        def told(question: Question) -> str:
            answer = asyncio.run_coroutine_threadsafe(self._questions.put(question), loop).result()
            if answer is None:
                raise paramiko.AuthenticationException("nobody answered")
            return answer

        def opened(path: Path) -> paramiko.PKey | None:
            return _opened(path, lambda again: told(prompts.passphrase(str(path), self._host, again)))

        for path in locked:
            key = opened(path)
            with contextlib.suppress(paramiko.AuthenticationException):
                if key and not transport.auth_publickey(user, key):
                    return

        def challenge(title: str, instructions: str, wanted: Sequence[tuple[str, bool]]) -> list[str]:
            head = [part for part in (title, instructions) if part]
            return [told(Question("\n".join([*head, text]), not echo, asker=self._host)) for text, echo in wanted]

        try:
            transport.auth_interactive(user, challenge)
        except paramiko.BadAuthenticationType:
            transport.auth_password(user, told(prompts.password(self._host)))


class _Judge(paramiko.MissingHostKeyPolicy):  # type: ignore[misc]
    """Hands every host key to host_keys.py: no key is known to paramiko itself."""

    def __init__(self, node: str, config: paramiko.SSHConfigDict, accept_new: bool) -> None:
        alias = config.get("hostkeyalias")
        port = int(config.get("port", host_keys.SSH_PORT))
        self.target = Target(node, alias) if alias else Target(node, config["hostname"], port)
        self._files = host_keys.files_of(_words(config, "userknownhostsfile"), _words(config, "globalknownhostsfile"))
        self._accept_new = accept_new

    def transport(self, sock: Any, **options: Any) -> paramiko.Transport:
        """A connection that asks for a key of a type that is known, if any."""
        transport = paramiko.Transport(sock, **options)
        transport.set_keepalive(KEEPALIVE_S)
        security = transport.get_security_options()
        kinds = host_keys.known(self.target, self._files).kinds
        first = [name for kind in kinds for name in security.key_types if _signs(name, kind)]
        security.key_types = list(dict.fromkeys([*first, *security.key_types]))
        return transport

    def missing_host_key(self, _client: paramiko.SSHClient, _hostname: str, key: paramiko.PKey) -> None:
        shown = HostKey(key.get_name(), key.asbytes())
        host_keys.check(self.target, shown, self._files, accept_new=self._accept_new)


def _execute(transport: paramiko.Transport, command: str) -> paramiko.Channel:
    channel = transport.open_session(timeout=CONNECT_TIMEOUT_S)
    channel.exec_command(command)
    return channel


def _config(host: str) -> paramiko.SSHConfigDict:
    """What the user's files say of a host. Raises Unreachable for what cannot be read, or done."""
    found = paramiko.SSHConfig()
    try:
        for path in (Path.home() / ".ssh" / "config", Path("/etc/ssh/ssh_config")):
            if path.is_file():
                with path.open(encoding="utf-8", errors="replace") as file:
                    found.parse(file)
        config = found.lookup(host)
    except (paramiko.ConfigParseError, paramiko.CouldNotCanonicalize, ImportError, OSError) as error:
        raise failures.bad_config(str(error)) from None
    for option in ("proxyjump", "proxycommand"):
        if config.get(option, "none") != "none":
            what = f"{host} is reached through {option} {config[option]}, which the paramiko transport cannot do"
            raise Unreachable(what, "Set `transport: asyncssh` or `transport: openssh` for the node.")
    return config


def _opened(path: Path, ask: Callable[[bool], str]) -> paramiko.PKey | None:
    """Open a key file by what is answered; an empty answer passes it over."""
    for number in range(prompts.TRIES):
        answer = ask(number > 0)
        for kind in (paramiko.Ed25519Key, paramiko.ECDSAKey, paramiko.RSAKey) if answer else ():
            with contextlib.suppress(paramiko.SSHException, ValueError, OSError):
                return kind.from_private_key_file(str(path), answer)
        if not answer:
            return None
    return None


def _words(config: paramiko.SSHConfigDict, option: str) -> list[str] | None:
    return shlex.split(config[option]) if option in config else None


def _signs(algorithm: str, kind: str) -> bool:
    return algorithm == kind or (kind == "ssh-rsa" and algorithm.startswith("rsa-sha2-"))


def _wants_answers(error: paramiko.SSHException, transport: paramiko.Transport | None) -> bool:
    if transport is None or not transport.is_active() or transport.is_authenticated():
        return False
    return isinstance(error, paramiko.AuthenticationException) or "authentication methods" in str(error)
