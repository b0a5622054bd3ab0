"""SSH by asyncssh, the default: the user's ssh_config, known_hosts and agent keys as OpenSSH reads them.

Host keys: an unknown one is shown (type and SHA256) and refused unless the user accepts it; a changed one is refused,
and the known_hosts line is named.
"""

from __future__ import annotations

import contextlib
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import asyncssh

from console.errors import Unreachable

if TYPE_CHECKING:
    from collections.abc import Sequence

CONNECT_TIMEOUT_S = 30.0
KEEPALIVE_S = 10


class SshChannel:
    """One command on the far side."""

    def __init__(self, process: asyncssh.SSHClientProcess[bytes]) -> None:
        self._process = process

    async def read(self, limit: int) -> bytes:
        return await self._guarded(self._process.stdout.read(limit))

    async def read_error(self, limit: int) -> bytes:
        return await self._guarded(self._process.stderr.read(limit))

    async def write(self, data: bytes) -> None:
        try:
            self._process.stdin.write(data)
            await self._process.stdin.drain()
        except (asyncssh.Error, BrokenPipeError) as error:
            raise ConnectionError(str(error) or "the channel is closed") from None

    def write_eof(self) -> None:
        with contextlib.suppress(OSError, asyncssh.Error):
            self._process.stdin.write_eof()

    async def wait(self) -> int | None:
        await self._process.wait_closed()
        return self._process.exit_status

    def close(self) -> None:
        self._process.close()

    @staticmethod
    async def _guarded(reading: Any) -> bytes:
        try:
            data: bytes = await reading
        except asyncssh.Error as error:
            raise ConnectionError(str(error) or type(error).__name__) from None
        return data


class AsyncsshTransport:
    """One SSH connection to `host`, an alias of the user's ssh_config or a host name."""

    name = "asyncssh"

    def __init__(self, host: str, *, accept_new_host_key: bool = False) -> None:
        self._host = host
        self._accept_new = accept_new_host_key
        self._connection: asyncssh.SSHClientConnection | None = None

    async def connect(self) -> None:
        try:
            self._connection = await self._connect()
        except asyncssh.HostKeyNotVerifiable as error:
            await self._judge_host_key(error)
            self._connection = await self._connect()

    async def open(self, argv: Sequence[str]) -> SshChannel:
        if self._connection is None:
            raise Unreachable(f"not connected to {self._host}")
        try:
            process = await self._connection.create_process(shlex.join(argv), encoding=None)
        except (asyncssh.Error, OSError) as error:
            raise Unreachable(f"{self._host}: no channel for a command: {error}") from None
        return SshChannel(process)

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection:
            connection.abort()
            with contextlib.suppress(asyncssh.Error, OSError):
                await connection.wait_closed()

    async def _connect(self) -> asyncssh.SSHClientConnection:
        try:
            return await asyncssh.connect(
                self._host,
                config=_config_files(),
                known_hosts=_known_hosts_files(self._options()),
                connect_timeout=CONNECT_TIMEOUT_S,
                keepalive_interval=KEEPALIVE_S,
            )
        except asyncssh.HostKeyNotVerifiable:
            raise
        except asyncssh.PermissionDenied as error:
            raise Unreachable(
                f"{self._host} refused us: {error.reason}",
                f"Try `ssh {self._host}`; is the key in the agent, or named in ~/.ssh/config?",
            ) from None
        except asyncssh.ConfigParseError as error:
            raise Unreachable(f"the ssh configuration cannot be used: {error}") from None
        except asyncssh.Error as error:
            raise Unreachable(f"{self._host}: {error.reason}", f"Try `ssh {self._host}`.") from None
        except TimeoutError:
            raise Unreachable(f"{self._host} did not answer within {CONNECT_TIMEOUT_S:.0f} s") from None
        except OSError as error:
            raise Unreachable(f"{self._host} cannot be reached: {error.strerror or error}") from None

    def _options(self) -> asyncssh.SSHClientConnectionOptions:
        return asyncssh.SSHClientConnectionOptions(host=self._host, config=_config_files())

    async def _judge_host_key(self, error: asyncssh.HostKeyNotVerifiable) -> None:
        """Take a new key if the user said so; otherwise say which key it is and what is known."""
        options = self._options()
        host = options.host_key_alias or options.host
        name = host if options.port in (0, 22) else f"[{host}]:{options.port}"
        key = await self._fetch_host_key()
        if key is None:
            raise Unreachable(f"the host key of {self._host} cannot be verified: {error.reason}") from None
        files = [Path(path) for path in _known_hosts_files(options)]
        shown = f"{key.get_algorithm()} {key.get_fingerprint()}"
        line = _known_line(files, host, options.port)
        if line:
            raise Unreachable(
                f"the host key of {self._host} CHANGED: it shows {shown}, and {line} says otherwise",
                f"If the change is right, remove that line: ssh-keygen -R {shlex.quote(str(name))}",
            ) from None
        if not self._accept_new:
            raise Unreachable(
                f"the host key of {self._host} is not known: {shown}",
                "Compare it with the node's own; then connect once with --accept-new-host-key.",
            ) from None
        _remember(files[0], f"{name} {key.export_public_key().decode().strip()}")

    async def _fetch_host_key(self) -> asyncssh.SSHKey | None:
        try:
            return await asyncssh.get_server_host_key(self._host, config=_config_files())
        except (asyncssh.Error, OSError):
            return None


def _config_files() -> list[str]:
    places = (Path.home() / ".ssh" / "config", Path("/etc/ssh/ssh_config"))
    return [str(path) for path in places if path.is_file()]


def _known_hosts_files(options: asyncssh.SSHClientConnectionOptions) -> list[str]:
    configured = options.config.get("UserKnownHostsFile")
    names = configured if isinstance(configured, list) else ["~/.ssh/known_hosts", "~/.ssh/known_hosts2"]
    user = [os.path.expanduser(str(name)) for name in names]  # noqa: PTH111 - names of ssh_config, not ours
    return [user[0], *(path for path in [*user[1:], "/etc/ssh/ssh_known_hosts"] if Path(path).is_file())]


def _known_line(files: list[Path], host: str, port: int) -> str:
    """ "file:line" of the first entry that names the host."""
    for path in files:
        if not path.is_file():
            continue
        for number, text in enumerate(path.read_text("utf-8", "replace").splitlines(), 1):
            with contextlib.suppress(ValueError, asyncssh.Error):
                trusted, *_others = asyncssh.import_known_hosts(text + "\n").match(host, "", port)
                if trusted:
                    return f"{path}:{number}"
    return ""


def _remember(path: Path, line: str) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(line + "\n")
