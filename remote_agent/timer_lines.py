"""Owns what leaves the node of a server's GET /metrics: the lines of its device timer, and its count of tokens.

The page has 200,000 characters and more; these lines have some thousands.
"""

from __future__ import annotations

from typing import Iterable, List

WANTED = (
    b"sglang:forward_execution_seconds_total{",  # from 0.5.11 on
    b"sglang:gpu_execution_seconds_total{",  # 0.5.7 to 0.5.10
    b"sglang:generation_tokens_total{",
)
MAX_LINE_BYTES = 8 * 1024


def timer_lines(parts: Iterable[bytes], limit: int) -> bytes:
    """Return the wanted lines of a page that comes in parts, at most `limit` bytes; a last half line is left out."""
    kept: List[bytes] = []
    size = 0
    pending = b""
    for part in parts:
        *lines, pending = (pending + part).split(b"\n")
        for line in lines:
            if not line.startswith(WANTED) or len(line) > MAX_LINE_BYTES:
                continue
            size += len(line) + 1
            if size > limit:
                return b"".join(kept)
            kept.append(line + b"\n")
        # A line that has no end stays one that is too long, and does not grow.
        pending = pending[: MAX_LINE_BYTES + 1]
    return b"".join(kept)
