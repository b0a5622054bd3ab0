"""Private key files looked at without opening them: which exist, and which does a passphrase lock?

OpenSSH's own form is PROTOCOL.key: a magic, then the cipher's name, `none` where there is no passphrase; the public
half follows in the clear. Older forms say ENCRYPTED in their head, and show no public half.
"""

from __future__ import annotations

import base64
import binascii
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

DEFAULTS = ("~/.ssh/id_rsa", "~/.ssh/id_ecdsa", "~/.ssh/id_ed25519")
"""ssh_config(5), IdentityFile; those that need hardware are for OpenSSH's own client."""
MAX_FILE = 64 * 1024
_MAGIC = b"openssh-key-v1\0"
_BEGIN = b"-----BEGIN OPENSSH PRIVATE KEY-----"


def there(names: Iterable[str] | None) -> list[Path]:
    """The configured key files that exist, or the default ones; one that is missing is passed over, as by ssh."""
    paths = [Path(name).expanduser() for name in (DEFAULTS if names is None else names)]
    return [path for path in paths if path.is_file()]


def is_locked(path: Path) -> bool:
    """Whether a passphrase is needed; a file that cannot be read is not known to be locked."""
    return locks(_head(path))


def usable(names: Iterable[str] | None) -> list[Path]:
    """Those whose public half can be shown to a node before anybody is asked for a passphrase."""
    return [path for path in there(names) if not is_locked(path) or _shows_public(path)]


def locks(data: bytes) -> bool:
    """The same of a file's content."""
    if _BEGIN not in data:
        return b"ENCRYPTED" in data
    first = b"".join(data.partition(_BEGIN)[2].split()[:2])[:64]
    try:
        body = base64.b64decode(first[: len(first) // 4 * 4])
    except (binascii.Error, ValueError):
        return False
    size = int.from_bytes(body[len(_MAGIC) : len(_MAGIC) + 4], "big")
    name = body[len(_MAGIC) + 4 :][: min(size, 32)]
    return body.startswith(_MAGIC) and name != b"none"


def _shows_public(path: Path) -> bool:
    return _BEGIN in _head(path) or path.with_name(f"{path.name}.pub").is_file()


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MAX_FILE)
    except OSError:
        return b""
