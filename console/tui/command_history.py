"""What was entered on the command line: the newest 200, in a file of the user's alone, secrets masked before that."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from pathlib import Path

from console.launch.secrets import MASK, is_secret_value, looks_secret
from console.units import plain

LIMIT = 200
MAX_BYTES = 1_000_000
_SEPARATOR = re.compile(r"([\s=:/,;@?&\"']+)")
_USER_INFO = re.compile(r"(://[^/\s:@]*):[^/\s@]+@")


class CommandHistory:
    """Past commands, oldest first. Without a file, and where it cannot be written, they live as long as the session."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.lines: tuple[str, ...] = ()
        self.problem = ""
        """Why they are not kept; empty when they are."""

    def read(self) -> None:
        """Take in what another console has added since."""
        if self._path is None:
            return
        try:
            with self._path.open("rb") as file:
                data = file.read(MAX_BYTES)
        except OSError:
            return
        found = [plain(line) for line in data.decode("utf-8", "replace").split("\n") if line.strip()]
        self.lines = tuple(found[-LIMIT:])

    def add(self, line: str) -> None:
        """Remember a command; one that is repeated moves to the end."""
        self.read()
        line = masked(plain(line.strip()))
        self.lines = (*(each for each in self.lines if each != line), line)[-LIMIT:]
        if self._path is None:
            return
        try:
            _write(self._path, "".join(f"{each}\n" for each in self.lines))
        except OSError as error:
            self.problem = f"commands are not kept: {error}"


def masked(line: str) -> str:
    """Return a command without what looks like a secret: by its form, by its name (X_TOKEN=…), or in a URL."""
    parts = _SEPARATOR.split(_USER_INFO.sub(rf"\1:{MASK}@", line))
    for at in range(0, len(parts), 2):
        is_named = at >= 2 and parts[at - 1] == "=" and looks_secret(parts[at - 2].replace("-", "_"))
        if parts[at] and (is_named or is_secret_value(parts[at])):
            parts[at] = MASK
    return "".join(parts)


def _write(path: Path, text: str) -> None:
    """In place of the old file at once, for the user alone: two consoles may write, and a full disk loses nothing."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    number, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # 0600 from the beginning
    try:
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
