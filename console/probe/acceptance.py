"""Owns acceptance from a probe's traces: accept length, the histogram of accepted drafts, and where each comes from.

`accept_len` is SGLang's own: tokens per verification, the bonus token in it (and, per request, the one token that
prefill made): 1.0 means that no draft was accepted. The histogram counts, at index i, the verifications that accepted
i drafts.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from console.probe.trace import RequestTrace

ACCEPT_LEN_FORMULA = "sum(completion_tokens) / sum(spec_verify_ct)"

HISTOGRAM_KEYS = ("spec_correct_drafts_histogram", "spec_accept_histogram")
"""Of `meta_info`: SGLang 0.5.12 and newer, then 0.5.9 to 0.5.20. The same numbers where both are present."""

FROM_CHUNKS = "stream chunks; the last of each request left out: max_new_tokens may cut it"
COALESCED = "none: the stream brought fewer chunks than there were verifications"
MIXED = "none: not every request reported it"


@dataclass(frozen=True, slots=True)
class Histogram:
    """Verifications by accepted drafts, summed over requests; `counts` None where it cannot be known."""

    counts: tuple[int, ...] | None
    source: str
    """A key of `meta_info`, or words for another source; empty without speculation."""


def verifications(requests: Sequence[RequestTrace]) -> int | None:
    """Return sum(spec_verify_ct). None where not every request reports some: a server that does not speculate."""
    counts = [verify_ct(request) for request in requests]
    return sum(counts) if counts and all(counts) else None


def accept_len(requests: Sequence[RequestTrace]) -> float | None:
    """Return tokens per verification (ACCEPT_LEN_FORMULA), None without speculation."""
    total = verifications(requests)
    if total is None:
        return None
    return sum(request.completion_tokens for request in requests) / total


def histogram(requests: Sequence[RequestTrace]) -> Histogram:
    """Return the histogram of accepted drafts, from the server's own where it gives one, else from the chunks."""
    if verifications(requests) is None:
        return Histogram(None, "")
    for key in HISTOGRAM_KEYS:
        told = [counts for request in requests if (counts := _told(request.meta_info, key)) is not None]
        if told:
            return Histogram(_sum(told), key) if len(told) == len(requests) else Histogram(None, MIXED)
    return _from_chunks(requests)


def chunk_drafts(chunks: Sequence[tuple[float, int]]) -> tuple[int, ...]:
    """Return the accepted drafts of each verification of one stream: growth of the token count, less the bonus token.

    One chunk is one verification at stream interval 1 (seen on 0.5.12.post1 with the overlap scheduler and graphs on).
    The first chunk is prefill's.
    """
    return tuple(after - before - 1 for (_, before), (_, after) in pairwise(chunks))


def count_drafts(drafts: Sequence[int]) -> tuple[int, ...]:
    """Return how often each number of accepted drafts occurs, from 0 up to the largest."""
    counts = [0] * (max(drafts, default=-1) + 1)
    for each in drafts:
        counts[each] += 1
    return tuple(counts)


def _from_chunks(requests: Sequence[RequestTrace]) -> Histogram:
    drafts: list[int] = []
    for request in requests:
        found = chunk_drafts(request.chunks)
        if len(found) != verify_ct(request):
            return Histogram(None, COALESCED)
        drafts.extend(found[:-1])
    return Histogram(count_drafts(drafts), FROM_CHUNKS)


def verify_ct(request: RequestTrace) -> int:
    """Return a request's verifications, 0 where the server told none."""
    value = request.meta_info.get("spec_verify_ct")
    return value if type(value) is int and value > 0 else 0


def _told(meta: Mapping[str, Any], key: str) -> tuple[int, ...] | None:
    value = meta.get(key)
    if not isinstance(value, list) or not all(type(item) is int and item >= 0 for item in value):
        return None
    return tuple(value) or None


def sum_histograms(histograms: Sequence[tuple[int, ...] | None]) -> tuple[int, ...] | None:
    """Return the histogram of several runs together, None where one has none."""
    known = [counts for counts in histograms if counts is not None]
    return _sum(known) if known and len(known) == len(histograms) else None


def _sum(histograms: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    longest = max(len(counts) for counts in histograms)
    return tuple(sum(counts[i] for counts in histograms if i < len(counts)) for i in range(longest))
