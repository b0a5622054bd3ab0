"""The anatomy of a line: wrappers, head (`[time ranks]`) and message, and where one line holds several records.

Head since 0.4.6: `[2026-02-20 10:02:11 DP0 TP3] message`, with milliseconds under SGLANG_LOG_MS; which rank parts there
are, and their order, varies by release, so they are a map. tqdm bars and print() leave no newline, so a head or a debug
marker may stand in mid-line. vLLM's head is `INFO 01-02 03:04:05 [module.py:7] message`, its ranks in the wrapper.
"""

from __future__ import annotations

import re
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from console.logs.record import NO_RANKS

if TYPE_CHECKING:
    from collections.abc import Mapping

MARKER = "[EAGLE3_DEBUG] "
"""Begins each shape record of an instrumented tree."""
DIGEST_MARKER = "[EAGLE3_DIGEST] "
CYCLE_MARKER = "[EAGLE3_CYCLE] "
OVERLAY_MARKER = "[SPEC_CONSOLE_OVERLAY] "
_MARKERS = (MARKER, DIGEST_MARKER, CYCLE_MARKER, OVERLAY_MARKER)

_WRAPPER = re.compile(
    r"[\w.-]{1,80} {1,40}\| "  # docker compose: 'sglang  | '
    r"|\(\w{1,80} pid=\d{1,10}(?:, ip=[\d.]{1,20})?\) "  # ray, vllm: '(RayWorkerWrapper pid=10858, ip=10.0.0.8) '
    r"|\d{4}-\d\d-\d\dT[\d:.]{8,20}(?:Z|[+-]\d\d:\d\d) "  # docker logs -t, kubectl --timestamps
    r"|\[pod/[\w.-]{1,253}/[\w.-]{1,253}\] "  # kubectl logs --prefix
)
_VLLM_HEAD = re.compile(
    r"(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) (\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{3})?) \[[\w./-]{1,120}:\d{1,7}\] ?"
)
_WORKER_RANKS = re.compile(r"\(\w{0,60}?((?:_[A-Z]{2,10}\d{1,6}){1,8}) pid=")
_HEAD = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{3})?)((?: [A-Z_]{1,20}\d{1,9}){0,12})\](?: |$)")
_TORCH_RANK = re.compile(r"\[rank(\d{1,9})\]:\s?")
_BOUNDARY = re.compile(
    r"\[(?:(?:EAGLE3_(?:DEBUG|DIGEST|CYCLE)|SPEC_CONSOLE_OVERLAY)\] |\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)"
)
_RANK = re.compile(r"([A-Z][A-Z_]*)(\d+)")


class Part(NamedTuple):
    """A stretch of a line that holds one record; the texts of a line's parts join to the line."""

    text: str
    ts: str | None
    ranks: Mapping[str, int]
    message: str
    """The text behind wrappers and head, its own indentation kept."""


def parts(text: str) -> list[Part]:
    """Split a line at each head and each debug marker that follows something else than wrappers or its own head."""
    if text.find("[", 1) < 0 or not _BOUNDARY.search(text, 1):
        return [_part(text)]
    starts = [0]
    own_head_ends = -1
    for boundary in _BOUNDARY.finditer(text):
        at = boundary.start()
        head = _HEAD.match(text, at)
        is_record = head is not None or boundary[0] in _MARKERS
        if is_record and at not in {starts[-1], own_head_ends} and not _only_wrappers(text[starts[-1] : at]):
            starts.append(at)
        if head:
            own_head_ends = head.end()
    ends = [*starts[1:], len(text)]
    return [_part(text[start:end]) for start, end in zip(starts, ends, strict=True)]


def peel(text: str) -> int:
    """Return where the wrappers of container and cluster tools end; indentation behind them belongs to the line."""
    at = 0
    while match := _WRAPPER.match(text, at):
        at = match.end()
    return at


def _only_wrappers(text: str) -> bool:
    return not text[peel(text) :].strip()


def _part(text: str) -> Part:
    if text.startswith(_MARKERS):
        return Part(text, None, NO_RANKS, text)
    at = 0 if text.startswith(("[", " ")) and not text.startswith("[pod/") else peel(text)
    head = _HEAD.match(text, at) or (_HEAD.match(text.lstrip(" ")) if text.startswith(" ") else None)
    if head:
        return Part(text, head[1], _ranks(head[2]), head.string[head.end() :])
    if torch_rank := _TORCH_RANK.match(text, at):
        return Part(text, None, MappingProxyType({"rank": int(torch_rank[1])}), text[torch_rank.end() :])
    if vllm := _VLLM_HEAD.match(text, at):
        worker = _WORKER_RANKS.search(text, 0, at)
        return Part(text, vllm[1], _ranks(worker[1]) if worker else NO_RANKS, text[vllm.end() :])
    return Part(text, None, NO_RANKS, text[at:] if at else text)


@lru_cache(maxsize=1024)
def _ranks(text: str) -> Mapping[str, int]:
    return MappingProxyType({name: int(number) for name, number in _RANK.findall(text)})
