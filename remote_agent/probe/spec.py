"""Owns the order of a probe as a file: `spec.json` of its run directory."""

from __future__ import annotations

import json

from remote_agent.protocol.probe.spec import Spec, SpecError, parse_spec

MAX_BYTES = 16 * 1024 * 1024


def read_spec(path: str) -> Spec:
    """Read and check `spec.json`. Raises SpecError."""
    try:
        with open(path, "rb") as file:
            data = json.loads(file.read(MAX_BYTES).decode("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise SpecError(f"the order cannot be read: {error}") from None
    return parse_spec(data)
