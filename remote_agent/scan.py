"""Search the bytes of a file. Its text runs as a process of its own, `python -c`, so it imports nothing of ours.

A pattern may backtrack for ever while it holds the interpreter: here only this process waits, a timer of the kernel
ends it, and closing its output does too. Asked by one JSON line on stdin, it answers in lines (LogHits in
protocol/logs.py).
"""

from __future__ import annotations

import base64
import contextlib
import importlib
import json
import os
import re
import resource
import signal
import sys
import time
from typing import Any, Callable, Dict, Iterator, List, Tuple

CHUNK = 1 << 20
LINE = 4096
"""Bytes of a found line that are sent."""
BATCH = 96 * 1024
TELL_S = 0.2
BUDGET_S = 5.0
"""CPU time for one chunk; 1 MB takes an honest pattern 0.1 s at most."""
MEMORY = 1 << 30
_LINES = re.compile(rb"[^\r\n]+")
_END = re.compile(rb"[\r\n]")
_SPECIAL = re.compile(rb"[.^$*+?{}\[\]\\|()]")
_CROSSING = re.compile(rb"\(\?(?!:)|\\[AZz]|[*+?}]\+")
"""Look-around, flags, absolute ends, possessive: what may match otherwise in a chunk than in its line."""

Span = Tuple[int, int]
Lines = Callable[[bytes], Iterator[Span]]


def main() -> None:
    asked = json.loads(sys.stdin.readline())
    with contextlib.suppress(ValueError, OSError):  # a lower limit holds already
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    fd = asked["fd"]
    size = os.fstat(fd).st_size
    try:
        signal.setitimer(signal.ITIMER_PROF, BUDGET_S)
        lines = finder(asked["pattern"].encode(), asked["regex"], asked["ignore_case"], asked["inverse"])
    except (re.error, RecursionError, OverflowError, MemoryError) as error:
        _write({"error": str(error) or type(error).__name__})
        return
    start = asked["start"]
    if asked["backward"]:
        parts = backward(fd, size if start is None else min(start, size), lines)
    else:
        parts = forward(fd, start or 0, size, lines)
    _report(parts, asked["limit"])


def finder(pattern: bytes, is_regex: bool, ignore_case: bool, inverse: bool) -> Lines:
    """What finds the lines of a chunk that match, in their order. Raises re.error."""
    fold = bytes.lower if ignore_case else bytes
    if not is_regex or not _SPECIAL.search(pattern):
        needle = fold(pattern)
        if inverse:
            return lambda chunk: _apart(chunk, lambda line: needle not in fold(line))
        return lambda chunk: _holding(fold(chunk), [needle])
    flags = re.IGNORECASE if ignore_case else 0
    has, near = re.compile(pattern, flags).search, re.compile(pattern, flags | re.MULTILINE).search
    if inverse:
        return lambda chunk: _apart(chunk, lambda line: not has(line))
    needles = literals(pattern, ignore_case)
    if needles:
        return lambda chunk: (span for span in _holding(fold(chunk), needles) if has(chunk[slice(*span)]))
    is_crossing, is_anchored = _CROSSING.search(pattern), re.search(rb"[$^]", pattern)

    def lines(chunk: bytes) -> Iterator[Span]:
        if is_crossing or (is_anchored and b"\r" in chunk):
            return _apart(chunk, lambda line: bool(has(line)))
        return _matching(chunk, near, has)

    return lines


def literals(pattern: bytes, ignore_case: bool) -> List[bytes]:
    """Texts of which each match holds one at least; empty where none are sure. Finding a text is far faster."""
    parser: Any = getattr(re, "_parser", None) or importlib.import_module("sre_parse")  # its name before 3.11
    parsed = parser.parse(pattern)
    if parsed.state.flags & (re.IGNORECASE | re.VERBOSE):
        return []
    found = _literals(parsed)
    return [each.lower() for each in found] if ignore_case else found


def _literals(sequence: Any) -> List[bytes]:
    best: List[bytes] = []
    run = b""
    for op, value in sequence:
        kind, options = str(op), []
        if kind == "LITERAL":
            run += bytes([value])
            options = [run]
        elif kind != "AT":  # anchors have no width
            run = b""
            if kind == "SUBPATTERN":
                options = _literals(value[-1]) if not value[1] else []
            elif kind == "BRANCH":
                each = [_literals(branch) for branch in value[1]]
                options = [text for texts in each for text in texts] if all(each) else []
        if options and min(map(len, options)) > min(map(len, best), default=1):
            best = options
    return best


def _holding(chunk: bytes, needles: List[bytes]) -> Iterator[Span]:
    places = [chunk.find(needle) for needle in needles]
    end = 0
    while True:
        at = min([place for place in places if place >= 0], default=-1)
        if at < 0:
            return
        begin, end = _bounds(chunk, at, end)
        yield begin, end
        past = max(end, at + 1)
        for index, place in enumerate(places):
            if 0 <= place < past:
                places[index] = chunk.find(needles[index], past)


def _matching(chunk: bytes, near: Any, has: Any) -> Iterator[Span]:
    """Search the chunk, not each line: a match that runs over a line's end is tried again in its first line alone."""
    at = 0
    while at <= len(chunk):
        match = near(chunk, at)
        if not match:
            return
        begin, end = _bounds(chunk, match.start(), at)
        if begin < end and has(chunk[begin:end]):
            yield begin, end
        at = end + 1


def _apart(chunk: bytes, is_meant: Callable[[bytes], bool]) -> Iterator[Span]:
    return (match.span() for match in _LINES.finditer(chunk) if is_meant(match.group()))


def _bounds(chunk: bytes, at: int, low: int) -> Span:
    """The line around `at`; it begins at or after `low`."""
    begin = max(chunk.rfind(b"\n", low, at), chunk.rfind(b"\r", low, at)) + 1
    end = _END.search(chunk, at)
    return max(begin, low), end.start() if end else len(chunk)


Line = Tuple[int, int, bytes]
"""Offset, length, the first bytes."""
Part = Tuple[List[Line], int, int]
"""Lines found, bytes done, bytes to do."""


def forward(fd: int, start: int, size: int, lines: Lines) -> Iterator[Part]:
    """Lines that begin at or after `start`."""
    at = line_at(fd, start, size)
    length = CHUNK
    while at < size:
        signal.setitimer(signal.ITIMER_PROF, BUDGET_S)
        chunk = os.pread(fd, min(length, size - at), at)
        end = len(chunk)
        if not chunk:
            return
        if at + end < size:
            end = max(chunk.rfind(b"\n"), chunk.rfind(b"\r") if length > CHUNK else -1) + 1
            if end == 0 and length < 64 * CHUNK:
                length *= 2  # a line longer than a chunk
                continue
            chunk = chunk[: end or None]
        length = CHUNK
        yield from _found(chunk, at, lines(chunk), at + len(chunk) - start, size - start)
        at += len(chunk)


def backward(fd: int, start: int, lines: Lines) -> Iterator[Part]:
    """Lines that begin before `start`, the last one first."""
    size = os.fstat(fd).st_size
    high = line_at(fd, start, size)
    length = CHUNK
    while high > 0:
        signal.setitimer(signal.ITIMER_PROF, BUDGET_S)
        low = max(0, high - length)
        chunk = os.pread(fd, high - low, low)
        if not chunk:
            return
        if low:
            begin = chunk.find(b"\n", 0, len(chunk) - 1) + 1
            if begin == 0 and length < 64 * CHUNK:
                length *= 2
                continue
            chunk = chunk[begin:]
            low += begin
        length = CHUNK
        done = max(0, start - low)
        yield from _found(chunk, low, reversed(list(lines(chunk))), done, start)
        high = low


def line_at(fd: int, at: int, size: int) -> int:
    """The first begin of a line at or after an offset."""
    at -= 1
    while 0 <= at < size:
        chunk = os.pread(fd, CHUNK, at)
        ends = [found for found in (chunk.find(b"\n"), chunk.find(b"\r")) if found >= 0]
        if ends or not chunk:
            return at + min(ends, default=0) + 1
        at += len(chunk)
    return max(0, min(at + 1, size))


def _found(chunk: bytes, at: int, spans: Iterator[Span], done: int, total: int) -> Iterator[Part]:
    batch: List[Line] = []
    size = 0
    for begin, end in spans:
        batch.append((at + begin, end - begin, chunk[begin : min(end, begin + LINE)]))
        size += len(batch[-1][2])
        if size > BATCH or len(batch) == 256:
            yield batch, done, total
            batch, size = [], 0
    yield batch, done, total


def _report(parts: Iterator[Part], limit: int) -> None:
    told, matches, done, total, end = time.monotonic(), 0, 0, 0, "done"
    waiting: List[Line] = []
    for batch, done, total in parts:
        room = limit - matches
        waiting += batch[:room]
        matches += len(batch[:room])
        if matches >= limit:
            end = "limit"
            break
        if len(waiting) > 1024 or sum([len(each[2]) for each in waiting]) > BATCH or time.monotonic() - told > TELL_S:
            _tell(waiting, done, total, matches, "")
            waiting, told = [], time.monotonic()
    _tell(waiting, done, total, matches, end)


def _tell(found: List[Line], done: int, total: int, matches: int, end: str) -> None:
    _write(
        {
            "offsets": [each[0] for each in found],
            "lengths": [each[1] for each in found],
            "kept": [len(each[2]) for each in found],
            "data": base64.b64encode(b"".join([each[2] for each in found])).decode(),
            "searched": done,
            "total": total,
            "matches": matches,
            "end": end,
        }
    )


def _write(message: Dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
