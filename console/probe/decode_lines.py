"""Say why a server's log has no decode line that counts, by how many decode steps a run had. Pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from console.probe.acceptance import accept_len, verify_ct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.probe.trace import RequestTrace

INTERVAL = 40
"""Decode steps between two lines without `--decode-log-interval` (server_args.py of all releases)."""


def why_none(requests: Sequence[RequestTrace], concurrency: int, interval: int = INTERVAL) -> str:
    """Return the likely cause, with the numbers that are known, and what to do.

    `requests`: the measured ones. A line whose window a request began in on an idle server does not count
    (see `console.probe.server_side`), so two lines must come while the server is busy.
    """
    unit = "verifications" if any(verify_ct(request) for request in requests) else "decode steps"
    had, needed = _steps(requests, concurrency), 2 * interval
    every = f"SGLang writes a decode line every {interval} decode steps (--decode-log-interval)"
    if had >= needed:
        return f"{every}, and here are about {had:,} {unit} in a row: is its --log-level above info?"
    tokens = math.ceil(needed * (accept_len(requests) or 1.0)) + 1
    return (
        f"{every}, and the first after a pause holds idle time: it takes {needed} in a row, here are about "
        f"{had:,} {unit}. Make more tokens: --max-new-tokens {tokens} or more"
    )


def _steps(requests: Sequence[RequestTrace], concurrency: int) -> int:
    """Decode steps for which the server was busy without a pause: of a request, or of a block of several streams."""
    longest = max(map(_of_request, requests), default=0)
    if concurrency <= 1:
        return longest
    blocks: dict[int, int] = {}
    for request in requests:
        blocks[request.block] = blocks.get(request.block, 0) + _of_request(request)
    return max(longest, max(blocks.values(), default=0) // concurrency)


def _of_request(request: RequestTrace) -> int:
    """Prefill makes the first token."""
    return verify_ct(request) or max(0, request.completion_tokens - 1)
