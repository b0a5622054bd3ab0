"""SSH by asyncssh, the default: the user's ssh_config, known_hosts and agent keys as OpenSSH reads them.

Host keys of the node and of each jump host are judged by host_keys.py; certificates by asyncssh, with the authorities
that known_hosts names. Jump hosts are connected to one by one, so that each is judged by its own name.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import getpass
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import asyncssh
from asyncssh.config import SSHClientConfig, SSHConfig
from asyncssh.public_key import get_default_certificate_algs, get_default_public_key_algs

from console.errors import Unreachable
from console.remote import prompts
from console.remote.prompts import Question, Questions
from console.remote.transports import failures, host_keys, key_files, ssh_config
from console.remote.transports.host_keys import HostKey, Known, Target

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from console.remote.prompts import Ask

CONNECT_TIMEOUT_S = 30.0
KEEPALIVE_S = 10
MAX_HOPS = 8
_PLACE = ("Hostname", "Port", "User", "ProxyJump", "HostKeyAlias")


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
        status = self._process.exit_status
        return status if status is not None and status >= 0 else None

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

    def __init__(
        self, host: str, *, user: str | None = None, accept_new_host_key: bool = False, ask: Ask | None = None
    ) -> None:
        self._host = host
        self._user = user
        self._accept_new = accept_new_host_key
        self._ask = ask
        self._connections: list[asyncssh.SSHClientConnection] = []
        """The jump hosts' in their order, then the node's."""

    async def connect(self) -> None:
        try:
            await self._reach(self._host, self._user)
        except BaseException:
            await self.close()
            raise

    async def open(self, argv: Sequence[str]) -> SshChannel:
        if not self._connections:
            raise Unreachable(f"not connected to {self._host}")
        try:
            process = await self._connections[-1].create_process(
                shlex.join(argv), encoding=None, request_pty=False, x11_forwarding=False
            )
        except AttributeError:  # asyncssh 2.24, of a channel that is closed while it is opened
            raise failures.no_channel(self._host, "it was closed at once") from None
        except (asyncssh.Error, OSError) as error:
            raise failures.no_channel(self._host, str(error)) from None
        return SshChannel(process)

    async def close(self) -> None:
        connections, self._connections = self._connections, []
        for connection in reversed(connections):
            connection.abort()
            with contextlib.suppress(asyncssh.Error, OSError):
                await connection.wait_closed()

    async def _reach(self, host: str, user: str | None, port: int | None = None) -> None:
        """Connect to a host, through its jump hosts; the first of them may have its own."""
        config = _config(host, user, port)
        hops = str(config.get("ProxyJump") or "").split(",")
        for hop in hops if hops != [""] and not self._connections else []:
            if len(self._connections) == MAX_HOPS:
                raise failures.bad_config(f"more than {MAX_HOPS} jump hosts on the way to {self._host}")
            await self._reach(*ssh_config.hop(hop))
        node = self._host if host == self._host else f"the jump host {host}"
        client = _Client(Target(node, host, port or 0), config, self._accept_new, self._ask)
        self._connections.append(await self._connect(client, host, user, port))

    async def _connect(
        self, client: _Client, host: str, user: str | None, port: int | None
    ) -> asyncssh.SSHClientConnection:
        try:
            async with client.deadline:
                return await asyncssh.connect(
                    host,
                    port if port is not None else (),
                    username=user if user is not None else (),
                    tunnel=self._connections[-1] if self._connections else None,
                    config=_config_files(),
                    known_hosts=client.known_hosts,
                    server_host_key_algs=client.algorithms(),
                    client_factory=lambda: client,
                    connect_timeout=None,
                    login_timeout=0,  # ours is the deadline
                    keepalive_interval=KEEPALIVE_S,
                    agent_forwarding=False,
                    **client.identities,
                )
        except asyncssh.HostKeyNotVerifiable as error:
            raise client.refusal(error.reason) from None
        except asyncssh.PermissionDenied as error:
            raise failures.refused_us(client.node, error.reason, client.questions) from None
        except asyncssh.Error as error:
            raise failures.not_reached(client.node, error.reason) from None
        except TimeoutError:
            raise failures.no_answer(client.node, CONNECT_TIMEOUT_S) from None
        except OSError as error:
            raise failures.not_reached(client.node, error.strerror or str(error)) from None
        except ValueError as error:  # a key file, or names of ciphers, that asyncssh cannot use
            raise failures.bad_config(str(error)) from None


class _Client(asyncssh.SSHClient):
    """Judges the host's key, and answers what it asks of us."""

    def __init__(self, target: Target, config: SSHConfig, accept_new: bool, ask: Ask | None) -> None:
        self.node = target.node
        self._accept_new = accept_new
        self.questions = Questions(ask)
        self.deadline = asyncio.timeout(CONNECT_TIMEOUT_S)
        self._by_config = bool(config.get("HostKeyAlgorithms"))
        self._files = host_keys.files_of(_names(config, "UserKnownHostsFile"), _names(config, "GlobalKnownHostsFile"))
        self._alias = str(config.get("HostKeyAlias") or "")
        port = target.port or config.get("Port") or host_keys.SSH_PORT
        self._target = self._named(str(config.get("Hostname") or target.host), int(str(port)))
        self._refused: Unreachable | None = None
        self.identities = _identities(config, self._passphrase)

    def algorithms(self) -> Any:
        """Host key algorithms, those of what is known first; the configuration's own where it has them."""
        if self._by_config:
            return ()
        known = host_keys.known(self._target, self._files)
        plain = [name.decode() for name in get_default_public_key_algs()]
        first = [name for kind in known.kinds for name in plain if _signs(name, kind)]
        certificates = [name.decode() for name in get_default_certificate_algs()] if known.authorities else []
        return list(dict.fromkeys([*certificates, *first, *plain]))

    def known_hosts(self, host: str, _address: str, port: int | None) -> Any:
        """Authorities and revoked keys for asyncssh; no plain keys: each is asked of `validate_host_public_key`."""
        known = self._known(host, port or host_keys.SSH_PORT)
        usable = [entry for entry in known.authorities if not known.revoking(entry.key)]
        return [], _keys(entry.key for entry in usable), _keys(entry.key for entry in known.revoked)

    def validate_host_public_key(self, host: str, _address: str, port: int, key: asyncssh.SSHKey) -> bool:
        self._target = self._named(host, port)
        try:
            host_keys.check(self._target, _host_key(key), self._files, accept_new=self._accept_new)
        except Unreachable as error:
            self._refused = error
        return self._refused is None

    def validate_host_ca_key(self, host: str, _address: str, port: int, key: asyncssh.SSHKey) -> bool:
        known, shown = self._known(host, port), _host_key(key)
        revoked = known.revoking(shown)
        if revoked:
            self._refused = host_keys.revoked(self._target, f"its authority {shown}", revoked.place)
        elif known.authorities:
            said = f"a certificate of the authority {shown}"
            self._refused = host_keys.changed(self._target, said, known.authorities[0].place)
        return False

    def refusal(self, reason: str) -> Unreachable:
        """Why the key was not taken."""
        if self._refused:
            return self._refused
        known = host_keys.known(self._target, self._files)
        if "revoked" in reason and known.revoked:
            return host_keys.revoked(self._target, "the key that it shows", known.revoked[0].place)
        return Unreachable(f"the host key of {self.node} cannot be verified: {reason}", f"Try `ssh {self.node}`.")

    async def password_auth_requested(self) -> str | None:
        return await self._put(prompts.password(self.node))

    async def kbdint_auth_requested(self) -> str | None:
        if self.questions.can_ask:
            return ""
        self.questions.leave(Question("", what="answers (keyboard-interactive)"))
        return None

    async def kbdint_challenge_received(
        self, name: str, instructions: str, _lang: str, prompts: Sequence[tuple[str, bool]]
    ) -> list[str] | None:
        answers = []
        for text, echo in prompts:
            told = "\n".join(part for part in (name, instructions, text) if part)
            answer = await self._put(Question(told, secret=not echo, asker=self.node))
            if answer is None:
                return None
            answers.append(answer)
        return answers

    async def _put(self, question: Question) -> str | None:
        """Ask; the time that a person takes is not the node's."""
        self.deadline.reschedule(None)
        answer = await self.questions.put(question)
        self.deadline.reschedule(asyncio.get_running_loop().time() + CONNECT_TIMEOUT_S)
        return answer

    async def _passphrase(self, path: str) -> str | None:
        """Asked when the node knows the key and wants its signature; an empty answer passes the key over."""
        for number in range(prompts.TRIES):
            answer = await self._put(prompts.passphrase(path, self.node, again=number > 0))
            if not answer or await asyncio.to_thread(_opens, path, answer):
                return answer
        return None

    def _named(self, host: str, port: int) -> Target:
        return Target(self.node, self._alias) if self._alias else Target(self.node, host, port)

    def _known(self, host: str, port: int) -> Known:
        self._target = self._named(host, port)
        return host_keys.known(self._target, self._files)


def effective(host: str, user: str | None) -> dict[str, str] | str:
    """Where asyncssh would go, by options of ssh_config in lower case; or why it cannot read the configuration."""
    try:
        config = _config(host, user, None)
    except Unreachable as error:
        return error.message
    defaults = {"hostname": host, "port": host_keys.SSH_PORT, "user": user or getpass.getuser()}
    found = {option: config.get(option, defaults.get(option.lower(), "")) for option in _PLACE}
    return {option.lower(): str(value) for option, value in found.items() if value}


def _config(host: str, user: str | None, port: int | None) -> SSHConfig:
    """What the user's files say of a host. Raises Unreachable when they cannot be read."""
    given = user if user is not None else (), host, port if port is not None else ()
    files = _config_files()
    try:
        config = SSHClientConfig.load(None, files, False, False, False, getpass.getuser(), *given)
        if config.has_match_final():
            return SSHClientConfig.load(config, files, True, False, True, getpass.getuser(), *given)
        return config
    except (asyncssh.ConfigParseError, OSError) as error:
        raise failures.bad_config(str(error)) from None


def _config_files() -> list[str]:
    places = (Path.home() / ".ssh" / "config", Path("/etc/ssh/ssh_config"))
    return [str(path) for path in places if path.is_file()]


def _identities(config: SSHConfig, passphrase: Callable[[str], Awaitable[str | None]]) -> dict[str, Any]:
    """Key and certificate files: one that is not there is passed over, as ssh does, where asyncssh would give up."""
    found: dict[str, Any] = {}
    if (certificates := _paths(config, "CertificateFile")) is not None:
        found["client_certs"] = [str(path) for path in certificates if path.is_file()]
    if usable := key_files.usable(_names(config, "IdentityFile")):
        found.update(client_keys=[str(path) for path in usable], passphrase=passphrase, ignore_encrypted=True)
    if (keys := _paths(config, "IdentityFile")) is not None:
        found.setdefault("client_keys", [])
        if config.get("IdentitiesOnly"):
            either = [path if path.is_file() else path.with_name(f"{path.name}.pub") for path in keys]
            found["agent_identities"] = [str(path) for path in either if path.is_file()]
    return found


def _paths(config: SSHConfig, option: str) -> list[Path] | None:
    names = _names(config, option)
    return None if names is None else [Path(name).expanduser() for name in names]


def _names(config: SSHConfig, option: str) -> list[str] | None:
    value = config.get(option)
    return [str(each) for each in value] if isinstance(value, list) else None


def _opens(path: str, passphrase: str) -> bool:
    try:
        asyncssh.read_private_key(path, passphrase)
    except (OSError, ValueError):
        return False
    return True


def say_all(on: bool) -> None:
    """Have asyncssh's logger tell which methods a server takes, for whoever listens to it."""
    asyncssh.set_debug_level(2 if on else 1)


def _signs(algorithm: str, kind: str) -> bool:
    return algorithm == kind or (kind == "ssh-rsa" and algorithm.startswith("rsa-sha2-"))


def _host_key(key: asyncssh.SSHKey) -> HostKey:
    kind, blob, *_comment = key.export_public_key().decode().split()
    return HostKey(kind, base64.b64decode(blob))


def _keys(keys: Any) -> list[asyncssh.SSHKey]:
    found = []
    for key in keys:
        with contextlib.suppress(asyncssh.KeyImportError):
            found.append(asyncssh.import_public_key(key.text))
    return found
