"""Lines of docker's json-file driver: `{"log":"text\\n","stream":"stderr","time":"2026-02-20T10:02:11.5Z"}`.

https://docs.docker.com/engine/logging/drivers/json-file/. A line over 16 kB is written as several, of which the last
one alone ends with a newline.
"""

from __future__ import annotations

import json

START = b'{"log":"'


def unwrap(raw: bytes) -> str | None:
    """The text of one such line, with its own end; None for any other line."""
    try:
        told = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(told, dict) or not {"log", "stream"} <= told.keys() or not isinstance(told["log"], str):
        return None
    return told["log"]
