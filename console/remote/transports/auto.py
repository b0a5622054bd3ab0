"""asyncssh, unless the ssh configuration of a host needs OpenSSH's own client: then that, and why."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from console.errors import Unreachable
from console.remote.transports import ssh_config
from console.remote.transports.ssh_config import first

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from console.remote.prompts import Ask
    from console.remote.transport import Channel, Transport
    from console.remote.transports.ssh_config import Effective

_SHELL = re.compile(r"[|&;<>()$`*?]|(?:^|\s)[~#]|^\s*exec\b|^\s*\w+=")
"""What a ProxyCommand may hold that only a shell understands: ssh runs it by a shell, asyncssh word by word."""

_ONLY_OPENSSH = {
    "knownhostscommand": "KnownHostsCommand",
    "pkcs11provider": "PKCS11Provider",
    "bindinterface": "BindInterface",
}
_SAME = {
    "hostname": "Hostname",
    "port": "Port",
    "user": "User",
    "proxyjump": "ProxyJump",
    "hostkeyalias": "HostKeyAlias",
}
"""Options that lead to another place when they are read differently."""


class AutoTransport:
    """Decides at `connect`; `why` is then what the choice rests on, empty where nothing speaks for OpenSSH."""

    def __init__(
        self, host: str, *, user: str | None = None, accept_new_host_key: bool = False, ask: Ask | None = None
    ) -> None:
        self.why: tuple[str, ...] = ()
        self._host = host
        self._user = user
        self._accept_new = accept_new_host_key
        self._ask = ask
        self._chosen: Transport | None = None

    @property
    def name(self) -> str:
        return self._chosen.name if self._chosen else "auto"

    @property
    def log(self) -> str:
        """What ssh said while it logged in, where it is ssh that did."""
        return getattr(self._chosen, "log", "")

    async def connect(self) -> None:
        # Again at each connect: a master may have come or gone, a ticket may have run out.
        self.why = await needs_openssh(self._host, self._user)
        self._chosen = self._made()
        await self._chosen.connect()

    async def open(self, argv: Sequence[str]) -> Channel:
        if self._chosen is None:
            raise Unreachable(f"not connected to {self._host}")
        return await self._chosen.open(argv)

    async def close(self) -> None:
        if self._chosen:
            await self._chosen.close()

    def _made(self) -> Transport:
        wanted = "openssh" if self.why else "asyncssh"
        if self._chosen and self._chosen.name == wanted:
            return self._chosen
        if self.why:
            from console.remote.transports.openssh import OpensshTransport

            return OpensshTransport(self._host, user=self._user, accept_new_host_key=self._accept_new, ask=self._ask)
        from console.remote.transports.asyncssh_ import AsyncsshTransport

        return AsyncsshTransport(self._host, user=self._user, accept_new_host_key=self._accept_new, ask=self._ask)


async def needs_openssh(host: str, user: str | None) -> tuple[str, ...]:
    """Why a host's configuration needs OpenSSH's client, told to people; empty when asyncssh does the same.

    Raises:
        Unreachable: ssh rejects the configuration.
    """
    if ssh_config.ssh_program() is None:
        return ()
    asking = asyncio.ensure_future(ssh_config.effective(host, ("-l", user) if user else ()))
    try:
        await asyncio.sleep(0)  # let `ssh -G` start: it and the import take their time together
        from console.remote.transports import asyncssh_
    finally:
        config = await asking
    theirs = asyncssh_.effective(host, user)
    return (*reasons(config), *differences(config, theirs))


def reasons(config: Effective) -> tuple[str, ...]:
    """What OpenSSH's client alone can do, of what a configuration asks for."""
    found = [f"{name} is set" for option, name in _ONLY_OPENSSH.items() if first(config, option)]
    if path := ssh_config.live_master(config):
        found.append(f"a master connection is open at its ControlPath {path}")
    if _SHELL.search(first(config, "proxycommand")):
        found.append("its ProxyCommand is a line for a shell")
    if first(config, "hostbasedauthentication") == "yes":
        found.append("HostbasedAuthentication is on")
    if first(config, "gssapiauthentication") == "yes" and _has_ticket() and not importlib.util.find_spec("gssapi"):
        found.append("GSSAPIAuthentication is on and there is a Kerberos ticket")
    if key := _hardware_key(config):
        found.append(f"{key} is a hardware key")
    return tuple(found)


def differences(config: Effective, theirs: Mapping[str, str] | str) -> tuple[str, ...]:
    """Options that asyncssh reads otherwise than ssh, such as those behind a Match that it does not know.

    Args:
        theirs: the same options as asyncssh has them; or why it cannot read the configuration.
    """
    if isinstance(theirs, str):
        return (f"asyncssh cannot read the configuration ({theirs})",)
    canonical = first(config, "canonicalizehostname") not in ("", "no", "false")
    found = []
    for option, name in _SAME.items():
        ours, other = first(config, option), theirs.get(option, "")
        if ours.lower() != other.lower() and not (canonical and option == "hostname"):
            found.append(f"{name} is {ours or 'not set'}, and asyncssh reads {other or 'nothing'}")
    return tuple(found)


def _has_ticket() -> bool:
    cache = os.environ.get("KRB5CCNAME", "")
    path = Path(cache.removeprefix("FILE:")) if cache else Path(f"/tmp/krb5cc_{os.getuid()}")
    return path.exists() or (bool(cache) and ":" in cache and shutil.which("klist") is not None)


def _hardware_key(config: Effective) -> str:
    for name in config.get("identityfile", ()):
        public = Path(f"{name}.pub").expanduser()
        try:
            with public.open("rb") as file:
                if file.read(3) == b"sk-":
                    return str(name)
        except OSError:
            continue
    return ""
