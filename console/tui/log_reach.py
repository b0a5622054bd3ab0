"""Ways to parts of the followed file that are not here: a region, the next match, a time of day, a saved range."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

from console import new_file
from console.errors import UsageError
from console.logs.choice import search_of
from console.logs.highlight import without_secrets
from console.logs.window import LineWindow, plain_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from console.logs.window import Line
    from console.state.log_state import LogDoor

REGION = 256 * 1024
"""Bytes fetched at once about a place that is looked at: some thousand lines."""
PROBE = 64 * 1024
PROBE_LIMIT = 8 * PROBE
"""Bytes in which a line with a time is looked for: shape lines have none, heads come every second or so."""
NEAR_ROWS = 20_000
"""Rows here that are looked at before the node is asked."""
SAVE_LIMIT = 256 * 1024 * 1024

_TIME = re.compile(rb"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)")
_TYPED = re.compile(r"(?:(\d{4}-\d\d-\d\d)[ T])?(\d\d:\d\d(?::\d\d)?)")


async def region(door: LogDoor, offset: int, epoch: int) -> LineWindow:
    """The lines about a byte of the file."""
    begin = max(0, offset - REGION // 2) if offset else 0
    data = await door.read(begin, REGION)
    whole = data[: data.rfind(b"\n") + 1] or data
    window = LineWindow()
    window.epoch = epoch
    window.prepend(begin, whole)
    window.append(begin + len(whole), b"")
    return window


async def match(door: LogDoor | None, live: LineWindow, typed: str, at: Line, *, backward: bool) -> int | None:
    """Byte offset of the nearest line that matches, behind a line or before it; None when there is none."""
    near = _near(live, typed, at, backward=backward)
    if near is not None or door is None or at.epoch != live.epoch:
        return near
    start = at.offset if backward else at.offset + 1
    async with contextlib.aclosing(door.search(typed, start, backward=backward, limit=1)) as parts:
        async for part in parts:
            if part.lines:
                return part.lines[0].offset
    return None


def _near(live: LineWindow, typed: str, at: Line, *, backward: bool) -> int | None:
    """Look at rows that are here, as far as they join the line."""
    row = live.row_at(at.offset, at.epoch)
    if row is None:
        return None
    find, inverse = search_of(typed), typed.startswith("!")
    near = list(live.lines(row - NEAR_ROWS, row) if backward else live.lines(row + 1, row + 1 + NEAR_ROWS))
    lines = (line for _row, line in (reversed(near) if backward else near) if not line.note)
    return next((line.offset for line in lines if (find(line.raw) is None) == inverse), None)


async def time(door: LogDoor, size: int, typed: str) -> int:
    """Byte offset of the first line at or after a time, `10:02`, `10:02:11` or with a date; the last day else.

    Found by halving: lines with a time are taken to be in order. Raises UsageError.
    """
    wanted = _TYPED.fullmatch(typed.strip())
    if wanted is None:
        raise UsageError(f"{typed!r} is no time", "10:02, 10:02:11 or 2026-02-20 10:02:11, as the log prints it.")
    date = wanted[1] or await _last_date(door, size)
    target = f"{date} {wanted[2]}".encode()
    low, high = 0, size
    while high - low > PROBE:
        middle = (low + high) // 2
        found = _TIME.search(await door.read(middle, PROBE)) or _TIME.search(await door.read(middle, PROBE_LIMIT))
        if found is None or b" ".join(found.groups()) >= target:
            high = middle
        else:
            low = middle
    data = await door.read(low, high - low + PROBE_LIMIT)
    for found in _TIME.finditer(data):
        if b" ".join(found.groups()) >= target:
            return low + found.start()
    raise UsageError(f"nothing in the log is as late as {target.decode()}", "G goes to its end.")


async def _last_date(door: LogDoor, size: int) -> str:
    begin = max(0, size - PROBE_LIMIT)
    found = _TIME.findall(await door.read(begin, PROBE_LIMIT))
    if not found:
        raise UsageError("no line near the end of the log has a time", "Give the date too.")
    return str(found[-1][0].decode())


async def lines_between(door: LogDoor | None, live: LineWindow, first: Line, last: Line) -> list[str]:
    """The text of lines of the file from one to another, both with it; secrets masked. Raises UsageError."""
    first, last = sorted((first, last), key=lambda line: line.offset)
    begin, end = first.offset, last.offset + last.length
    if end - begin > SAVE_LIMIT:
        raise UsageError("the range is larger than 256 MiB", "Copy the file itself: it is on the node.")
    top, bottom = live.row_at(begin, first.epoch), live.row_at(last.offset, last.epoch)
    if top is not None and bottom is not None:
        return [told(line.raw) for _row, line in live.lines(top, bottom + 1)]
    if door is None:
        raise UsageError("the range is not here, and there is no connection", "Try again when there is one.")
    return [told(raw) for raw in (await door.read(begin, end - begin)).splitlines()]


def told(raw: bytes) -> str:
    """A line as it may be written to a file: whole, without escapes, secrets masked."""
    return without_secrets(plain_text(raw, max(1, len(raw))))


def save(path: str, lines: Iterable[str]) -> int:
    """Write lines to a new local file that only this user reads; return how many. Raises Refused, UsageError."""
    count = 0
    with new_file.created(Path(path).expanduser(), mode=0o600) as file:
        for line in lines:
            file.write(f"{line}\n".encode())
            count += 1
    return count
