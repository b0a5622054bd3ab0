"""A folder of this user alone, with a path short enough for unix sockets."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from console.errors import Unreachable

LONGEST_SOCKET = 104 - 1 - 17
"""Of a socket of ssh: 104 bytes hold it on a Mac, with a NUL, and ssh first binds a name that is 17 bytes longer."""


def private_folder(longest_name: int) -> Path:
    """Return it, made if need be; a name of `longest_name` bytes in it can be a socket of ssh.

    Raises:
        Unreachable: no place for it; a folder of another user, or one that others can enter, is not taken.
    """
    tried = []
    for folder in _places():
        if len(os.fsencode(folder)) + 1 + longest_name > LONGEST_SOCKET:
            continue
        if why := _unfit(folder):
            tried.append(f"{folder}: {why}")
        else:
            return folder
    raise Unreachable(f"no private folder for the sockets of ssh ({'; '.join(tried) or 'every path is too long'})")


def _places() -> list[Path]:
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    shared = Path(tempfile.gettempdir()) / f"spec-console-{os.getuid()}"
    return [*([Path(runtime) / "spec-console"] if runtime else []), Path(cache) / "spec-console" / "ssh", shared]


def _unfit(folder: Path) -> str:
    """Make the folder; say why it cannot be used, or nothing."""
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        return error.strerror or type(error).__name__
    if not stat.S_ISDIR(found.st_mode):
        return "not a folder"
    if found.st_uid != os.getuid():
        return "it is another user's"
    return "others can enter it" if found.st_mode & 0o077 else ""
