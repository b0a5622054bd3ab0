"""What `ssh` wrote when it failed, in the console's own words. Pure; checked against OpenSSH 9.2."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from console.remote.prompts import Question
from console.remote.transports import failures, host_keys

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from console.errors import Unreachable
    from console.remote.prompts import Questions
    from console.remote.transports.host_keys import Target

_SHOWN = re.compile(r"^debug1: Server host key: (\S+ SHA256:\S+)", re.MULTILINE)
_OFFENDING = re.compile(r"^Offending .* in (\S.*:\d+)$", re.MULTILINE)
_ASKED = re.compile(r"host '(?P<host>[^']*)'.*?(?P<kind>\S+) key fingerprint is (?P<key>SHA256:[\w+/=]+)", re.DOTALL)
_DENIED = re.compile(r"Permission denied \([^)\n]*\)")
_CONFIG = re.compile(
    r"^(.*(?:Bad owner or permissions|[Bb]ad configuration option|terminating, \d+ bad).*)$", re.MULTILINE
)
_LOGGING_IN = re.compile(r"^debug1: Authenticating to (\S+):(\d+) as ", re.MULTILINE)
_ACCEPTED = re.compile(r"^debug1: Server accepts key: (.{1,1000}) \S+ SHA256:\S+", re.MULTILINE)
_CHANGED = "REMOTE HOST IDENTIFICATION HAS CHANGED"
_REVOKED = ("REVOKED HOST KEY DETECTED", "is marked as revoked")
_UNKNOWN = re.compile(r"^No \S+ host key is known for", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Way:
    """Where an ssh was to go."""

    target: Target
    files: Sequence[Path]
    """The known_hosts files, to name the line of a revoked key."""
    address: tuple[str, int]
    """The host and the port that ssh goes to; `target` may be an alias."""


def failure(way: Way, text: str, refused: Sequence[str], questions: Questions | None = None) -> Unreachable:
    """Name the failure of an `ssh -v` whose log is `text`, and that of its jump hosts among it.

    Args:
        refused: what ssh asked of unknown keys of jump hosts.
        questions: what was asked of the person, and not answered.
    """
    text = text.replace("\r", "")
    if refused:
        return _unknown_hop(way.target, refused[-1])
    target, files = _whose(way.target, text, way.address), way.files
    shown = _last(_SHOWN, text) or "a key that was not shown"
    if _CHANGED in text:
        return host_keys.changed(target, shown, _last(_OFFENDING, text) or "known_hosts")
    if any(each in text for each in _REVOKED):
        return host_keys.revoked(target, shown, _revoking(target, shown, files))
    if _UNKNOWN.search(text):
        return host_keys.unknown(target, shown)
    if found := _last(_DENIED, text):
        return failures.refused_us(target.node, found, questions)
    if found := _last(_CONFIG, text):
        return failures.bad_config(found)
    return failures.not_reached(target.node, _said(text))


def not_asked(text: str, is_locked: Callable[[str], bool]) -> Question | None:
    """What an ssh in BatchMode had to ask: the passphrase of a key that the server knows, else a password."""
    locked = [path for path in _ACCEPTED.findall(text) if is_locked(path)]
    if locked:
        return Question("", what=f"the passphrase of {locked[-1]}")
    methods = re.findall(r"[a-z-]+", _last(_DENIED, text).partition("(")[2])
    if "password" in methods:
        return Question("", what="a password")
    return Question("", what="answers (keyboard-interactive)") if "keyboard-interactive" in methods else None


def _whose(target: Target, text: str, address: tuple[str, int]) -> Target:
    """The host that was being logged in to at the end: on a way through others, it may be one of them."""
    reached = _LOGGING_IN.findall(text)
    if not reached or "Executing proxy command" not in text:
        return target
    host, port = reached[-1]
    return target if (host, int(port)) == address else host_keys.Target(f"the jump host {host}", host, int(port))


def _last(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.findall(text)
    return str(found[-1])[:500] if found else ""


def _revoking(target: Target, shown: str, files: Sequence[Path]) -> str:
    fingerprint = shown.rpartition(" ")[2]
    places = [e.place for e in host_keys.known(target, files).revoked if e.key.fingerprint == fingerprint]
    return places[0] if places else "a list of revoked keys"


def _unknown_hop(target: Target, asked: str) -> Unreachable:
    found = _ASKED.search(asked)
    if not found:
        return failures.not_reached(target.node, "the host key of a jump host is not known")
    name = found["host"].partition(" ")[0]
    hop = host_keys.Target(f"the jump host {name}", name)
    return host_keys.unknown(hop, f"{found['kind']} {found['key'].rstrip('.')}")


def _said(text: str) -> str:
    """The last thing that is no trace, and no consequence of another."""
    trace = ("debug", "kex_exchange", "OpenSSH_")
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith(trace)]
    telling = [line for line in lines if not line.startswith(("Connection closed by", "banner exchange"))]
    return (telling or lines or ["ssh said nothing"])[-1][:300].removeprefix("ssh: ")
