"""Owns the reading of SGLang's device timer: which stage of a cycle took the GPU's time, with no patch.

A server with `SGLANG_ENABLE_METRICS_DEVICE_TIMER=1` and `--enable-metrics` counts, in GET /metrics,
`sglang:forward_execution_seconds_total{category="target_verify"|"decode"|"extend"|…}` from 0.5.11 on (read in the
release: observability/metrics_collector.py), and from 0.5.7 to 0.5.10 `sglang:gpu_execution_seconds_total`, of whose
categories `forward_decode` is the whole cycle. Replays of the draft's graphs are not timed. The same page counts the
tokens of all requests that ended, `sglang:generation_tokens_total` (all releases): whose GPU time it was.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from console.probe.json_form import known_fields

if TYPE_CHECKING:
    from collections.abc import Mapping

VERIFY = "target_verify"
TEXT_LIMIT = 8 * 1024 * 1024
"""Characters of one answer of /metrics that are read; a server's has 200,000."""
FOREIGN_SHARE = 0.01
"""Of a run's tokens that others may have been given meanwhile: a health check makes one each."""
MAX_CATEGORIES = 100

_LINE = re.compile(
    r"^sglang:(?:forward|gpu)_execution_seconds_total\{([^}\n]{0,4000})\} ([0-9.eE+-]{1,40})(?: \d{1,20})?$", re.M
)
_TOKENS = re.compile(r"^sglang:generation_tokens_total\{[^}\n]{0,4000}\} ([0-9.eE+-]{1,40})(?: \d{1,20})?$", re.M)
_CATEGORY = re.compile(r'(?:^|,)category="([^"\\]{1,64})"')


@dataclass(frozen=True, slots=True)
class TimerReading:
    """What one answer of /metrics says."""

    seconds: Mapping[str, float]
    """GPU time since the server's start by category; empty where the timer is off."""
    tokens: float = 0.0
    """Tokens that the server made for all who asked it."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TimerReading:
        """Rebuild from plain data. Raises TypeError or ValueError."""
        return cls(**known_fields(cls, data, {"seconds": dict}))


@dataclass(frozen=True, slots=True)
class DeviceSplit:
    """GPU time of a run, its warm-up in it, by category."""

    seconds: Mapping[str, float]
    verify_ms: float | None
    """Milliseconds of the target's verify in a cycle, mean; None where verifications are not known or not timed."""


def read_timer(metrics: str) -> TimerReading:
    """Return what an answer of /metrics counts.

    Every scheduler counts for itself, and ranks of one group do the same work: of each category the largest is taken.
    """
    found: dict[str, float] = {}
    for labels, value in _LINE.findall(metrics[:TEXT_LIMIT]):
        category, seconds = _CATEGORY.search(labels), _number(value)
        if category and seconds is not None and (category[1] in found or len(found) < MAX_CATEGORIES):
            found[category[1]] = max(seconds, found.get(category[1], 0.0))
    counts = (_number(value) for value in _TOKENS.findall(metrics[:TEXT_LIMIT]))
    return TimerReading(found, sum(count for count in counts if count is not None))


def device_split(before: TimerReading, after: TimerReading, tokens: int, cycles: int | None) -> DeviceSplit | str:
    """Return what was counted between two readings, or why it is not this run's.

    `tokens` is what the run was given in between, warm-up too; `cycles` those of all its streams. At concurrency > 1
    several streams share a cycle: verifications are then no cycles, and None is to be given for them.
    """
    if not after.seconds:
        return "the device timer is off (SGLANG_ENABLE_METRICS_DEVICE_TIMER=1 switches it on)"
    spent = {category: seconds - before.seconds.get(category, 0.0) for category, seconds in after.seconds.items()}
    made = after.tokens - before.tokens
    if min(spent.values()) < 0 or made < 0:
        return "the server was started anew meanwhile"
    if not made:
        return "/metrics counts no tokens, so it is not known whose GPU time it was"
    if made > tokens * (1 + FOREIGN_SHARE):
        return f"others asked the server meanwhile: it made {made:.0f} tokens, {tokens} of them for this run"
    verify = spent.get(VERIFY)
    return DeviceSplit(spent, 1000 * verify / cycles if verify and cycles else None)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < 1e12 else None
