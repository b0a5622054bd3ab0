"""The names that a report holds and that somebody else need not see: hosts, users, homes."""

from __future__ import annotations

import getpass
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from console.actions.checkup.bundle import aliases

if TYPE_CHECKING:
    from collections.abc import Iterable

    from console.actions.checkup.check import Check
    from console.actions.connection import Configured

_HOST_OPTIONS = ("hostname", "hostkeyalias", "proxyjump")


def known_names(node: str, way: Configured, checks: Iterable[Check]) -> dict[str, str]:
    """What each name becomes: those of the configuration, of this machine, and those that the node told."""
    checks = tuple(checks)
    hosts, users = _of_place(way.checked.place)
    hosts += [node.rpartition("@")[2], way.checked.name.rpartition("@")[2], socket.gethostname()]
    for option in way.options:
        if option.name in _HOST_OPTIONS:
            more_hosts, more_users = _of_place(option.value)
            hosts, users = hosts + more_hosts, users + more_users
    homes = [str(Path.home())]
    for check in checks:
        hosts += [host for text in _texts(check, "host", "hostname") for host in _of_place(text)[0]]
        users += _texts(check, "user")
        homes += _texts(check, "path") if check.id == "home" else []
    for each in next((check.values for check in checks if check.id == "servers"), {}).get("runs", ()):
        user, _, host = str(each["operator"]).partition("@")
        users, hosts = [*users, user], [*hosts, host]
    return aliases(_whole_and_first(hosts), [*users, _me()], homes)


def _of_place(text: str) -> tuple[list[str], list[str]]:
    """Take "me@host:port through a,b@c:22" apart."""
    hosts, users = [], []
    for word in text.replace(",", " ").split():
        user, _, rest = word.removeprefix("ssh://").rpartition("@")
        host = rest.rpartition(":")[0] or rest if rest.count(":") == 1 else rest
        hosts += [host] if host != "through" else []
        users += [user] if user else []
    return hosts, users


def _texts(check: Check, *keys: str) -> list[str]:
    return [str(check.values[key]) for key in keys if check.values.get(key)]


def _whole_and_first(hosts: Iterable[str]) -> list[str]:
    """A name, and its first label by itself."""
    return [part for host in hosts for part in (host, host.partition(".")[0] if not host[:1].isdigit() else host)]


def _me() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
