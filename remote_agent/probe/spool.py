"""Owns the spool file: JSON lines, each written by one `os.write`, so that a reader never meets half of two."""

from __future__ import annotations

import json
import os
from typing import Any, Dict

NAME = "spool.ndjson"


class Spool:
    """The open spool of a run directory. Only one thread writes.

    Raises OSError where the file cannot be opened or written (no space): the run is over then.
    """

    def __init__(self, run_dir: str) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        self._fd = os.open(os.path.join(run_dir, NAME), flags, 0o600)
        os.fchmod(self._fd, 0o600)

    def write(self, event: str, **fields: Any) -> None:
        """Append one event."""
        record: Dict[str, Any] = {"event": event}
        record.update(fields)
        line = json.dumps(record, separators=(",", ":"), allow_nan=False).encode("ascii") + b"\n"
        written = os.write(self._fd, line)
        if written != len(line):
            # The rest could follow another writer's line; a torn line at the end is what readers can tell.
            raise OSError(f"the spool took {written} of {len(line)} bytes")

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)
