"""Is this host key trusted? The one place that decides, for every transport that does not leave it to `ssh`.

The format of known_hosts is sshd(8)'s: host patterns or a hashed name, key type, key; `@cert-authority`, `@revoked`.
Unknown: shown (type and SHA256) and refused unless the user accepts it. Changed or revoked: refused, its line named.
"""

from __future__ import annotations

import base64
import binascii
import fnmatch
import hashlib
import hmac
import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from console.errors import Unreachable
from console.remote.transports.failures import NotLetIn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SSH_PORT = 22
GLOBAL_FILES = ("/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2")
USER_FILES = ("~/.ssh/known_hosts", "~/.ssh/known_hosts2")
MAX_FILE = 16 * 1024 * 1024
_MARKERS = ("@cert-authority", "@revoked")


@dataclass(frozen=True, slots=True)
class HostKey:
    """A public key: its type, and the bytes that are hashed for its fingerprint."""

    kind: str
    blob: bytes

    @property
    def fingerprint(self) -> str:
        digest = base64.b64encode(hashlib.sha256(self.blob).digest()).decode()
        return f"SHA256:{digest.rstrip('=')}"

    @property
    def text(self) -> str:
        """As it stands in a file."""
        return f"{self.kind} {base64.b64encode(self.blob).decode()}"

    def __str__(self) -> str:
        return f"{self.kind} {self.fingerprint}"


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a known_hosts file."""

    path: Path
    number: int
    marker: str
    names: str
    key: HostKey

    @property
    def place(self) -> str:
        return f"{self.path}:{self.number}"


@dataclass(frozen=True, slots=True)
class Known:
    """What the files say of one host."""

    plain: tuple[Entry, ...] = ()
    authorities: tuple[Entry, ...] = ()
    revoked: tuple[Entry, ...] = ()
    portless: tuple[Entry, ...] = ()
    """Keys of the same name without the port: they may vouch for it, and never speak against it (as in ssh)."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The key types that it is known by, to be asked for first: another type would look like a change."""
        return tuple(dict.fromkeys(entry.key.kind for entry in (*self.plain, *self.portless)))

    def revoking(self, key: HostKey) -> Entry | None:
        return next((entry for entry in self.revoked if entry.key.blob == key.blob), None)


@dataclass(frozen=True, slots=True)
class Target:
    """Whose key is looked at: the user's name for it, and the name and port that known_hosts has."""

    node: str
    host: str
    port: int = SSH_PORT

    @property
    def name(self) -> str:
        return self.host if self.port in (0, SSH_PORT) else f"[{self.host}]:{self.port}"


def known(target: Target, files: Sequence[Path]) -> Known:
    """Read what is known of a host; files that are missing or unreadable know nothing."""
    entries = [entry for path in files for entry in read(path)]
    named = [entry for entry in entries if matches(entry.names, target.name)]
    portless = [] if target.name == target.host else [e for e in entries if matches(e.names, target.host)]
    return Known(
        plain=tuple(entry for entry in named if not entry.marker),
        authorities=tuple(entry for entry in (*named, *portless) if entry.marker == "@cert-authority"),
        revoked=tuple(entry for entry in (*named, *portless) if entry.marker == "@revoked"),
        portless=tuple(entry for entry in portless if not entry.marker),
    )


def check(target: Target, key: HostKey, files: Sequence[Path], *, accept_new: bool) -> None:
    """Return when the key is trusted, or new and accepted: then it is remembered in the first file.

    Raises:
        Unreachable: unknown, changed or revoked; the message says which.
    """
    found = known(target, files)
    if entry := found.revoking(key):
        raise revoked(target, key, entry.place)
    if any(entry.key.blob == key.blob for entry in (*found.plain, *found.portless)):
        return
    if found.plain:
        raise changed(target, str(key), found.plain[0].place)
    if not accept_new or not files or str(files[0]) in GLOBAL_FILES:
        raise unknown(target, str(key), found.authorities[0].place if found.authorities else "")
    remember(files[0], f"{target.name} {key.text}")


def unknown(target: Target, shown: str, authority: str = "") -> Unreachable:
    also = f"; {authority} trusts an authority for it, and it showed no certificate of that" if authority else ""
    return NotLetIn(
        f"the host key of {target.node} is not known: {shown}{also}",
        "Compare it with the node's own; then connect once with --accept-new-host-key.",
    )


def changed(target: Target, shown: str, place: str) -> Unreachable:
    return NotLetIn(
        f"the host key of {target.node} CHANGED: it shows {shown}, and {place} says otherwise",
        f"If the change is right, remove that line: ssh-keygen -R {shlex.quote(target.name)}",
    )


def revoked(target: Target, shown: HostKey | str, place: str) -> Unreachable:
    return NotLetIn(
        f"the host key of {target.node} is REVOKED: {shown}, by {place}",
        "Whoever marked it so says that the key is in wrong hands: ask them.",
    )


def read(path: Path) -> Iterator[Entry]:
    """The usable lines of a file; others are passed over, as ssh does."""
    try:
        with path.open("rb") as file:
            text = file.read(MAX_FILE).decode("utf-8", "replace")
    except OSError:
        return
    for number, line in enumerate(text.split("\n"), 1):
        words = line.split()
        marker = words.pop(0) if words and words[0].startswith("@") else ""
        if len(words) < 3 or words[0].startswith("#") or (marker and marker not in _MARKERS):
            continue
        try:
            blob = base64.b64decode(words[2], validate=True)
        except (binascii.Error, ValueError):
            continue
        yield Entry(path, number, marker, words[0], HostKey(words[1], blob))


def matches(names: str, name: str) -> bool:
    """Whether the first field of a line is about `name`: "host" or "[host]:port"."""
    name = name.lower()
    if names.startswith("|"):
        return _hashed(names, name)
    found = False
    for pattern in names.lower().split(","):
        if pattern.startswith("!") and _like(name, pattern[1:]):
            return False
        found = found or _like(name, pattern)
    return found


def _like(name: str, pattern: str) -> bool:
    # Only * and ? are special there; the brackets of "[host]:port" are not.
    return fnmatch.fnmatchcase(name, pattern.replace("[", "[[]"))


def _hashed(names: str, name: str) -> bool:
    try:
        _, version, salt, digest = names.split("|")
        wanted = base64.b64decode(digest, validate=True)
        found = hmac.new(base64.b64decode(salt, validate=True), name.encode(), "sha1").digest()
    except (ValueError, binascii.Error):
        return False
    return version == "1" and hmac.compare_digest(found, wanted)


def remember(path: Path, line: str) -> None:
    """Add a line, on a line of its own. Raises Unreachable when the file cannot be written."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+b") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - 1))
            before = b"" if file.read() in (b"", b"\n") else b"\n"
            file.write(before + line.encode() + b"\n")
    except OSError as error:
        raise Unreachable(f"the host key cannot be remembered in {path}: {error.strerror}") from None


def files_of(user: Sequence[str] | None, system: Sequence[str] | None = None) -> list[Path]:
    """Paths from UserKnownHostsFile and GlobalKnownHostsFile; None is the default, [] is `none`."""
    names = [*(USER_FILES if user is None else user), *(GLOBAL_FILES if system is None else system)]
    return [Path(name).expanduser() for name in names if name != "none"]
