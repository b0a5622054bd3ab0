"""Owns the console's view of a probe's spool: JSON lines from the node to typed traces. Its text is hostile."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


MAX_SECONDS = 1e9
MAX_WALL = 1e11


class SpoolFormatError(ValueError):
    """A line of the spool is not an event of the agreed form."""


@dataclass(frozen=True, slots=True)
class RequestTrace:
    """One request. Times in seconds since it was sent."""

    block: int
    index: int
    warmup: bool
    chunks: tuple[tuple[float, int], ...]
    """(time, tokens made so far) of each event of the stream that brought tokens; empty where only the end counts."""
    completion_tokens: int
    e2e_s: float
    sent_at: float | None = None
    """Wall clock of the node, seconds since 1970."""
    first_token_s: float | None = None
    """First event that shows something made, where the events do not count."""
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    finish_reason: str = ""
    error: str = ""
    meta_info: Mapping[str, Any] = field(default_factory=dict)
    """Of the last event, as the server gave it: an open map."""
    output_ids: tuple[int, ...] | None = None
    """Tokens that were made, where they were kept and the server gives them."""
    output_text: str | None = None
    """The text in their place."""
    output_cut: bool = False
    """The kept output is not all of it."""


@dataclass(frozen=True, slots=True)
class BlockTrace:
    """One block: `wall_s` runs from its first request's sending to its last one's end."""

    block: int
    requests: int
    completion_tokens: int
    wall_s: float
    client_cpu_s: float
    """CPU seconds that the probe itself used on the node."""
    log_from: int | None = None
    """Length in bytes of the server's log when the block began; None where it is not known."""
    log_to: int | None = None
    """The same at its end."""


@dataclass(frozen=True, slots=True)
class Flush:
    """One flush of the server's prefix cache, before a block: the HTTP status, 0 where nothing answered."""

    block: int
    status: int


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a running probe is. `block` is -1 in the warm-up."""

    block: int
    blocks: int
    done: int
    of: int
    completion_tokens: int
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class Done:
    """The last event: the agent's own word on the run."""

    valid: bool
    why: str
    ended_by: str = ""
    """Of a valid run: "blocks" (all of them), "finish" (asked to), or "budget"; empty in spools of older agents."""


Event = RequestTrace | BlockTrace | Flush | Progress | Done


@dataclass(frozen=True, slots=True)
class ProbeTrace:
    """All that a spool says."""

    requests: tuple[RequestTrace, ...] = ()
    blocks: tuple[BlockTrace, ...] = ()
    flushes: tuple[Flush, ...] = ()
    done: Done | None = None
    """None: the probe still runs, or was killed."""
    bad_lines: int = 0


def read_spool(data: bytes) -> ProbeTrace:
    """Read a spool. Lines that are not understood are counted; a half line at the end (still being followed) is not."""
    *lines, _half = data.split(b"\n")
    found: list[Event | None] = []
    bad_lines = 0
    for line in lines:
        try:
            found.append(parse_event(line))
        except SpoolFormatError:
            bad_lines += 1
    return ProbeTrace(
        requests=tuple(event for event in found if isinstance(event, RequestTrace)),
        blocks=tuple(event for event in found if isinstance(event, BlockTrace)),
        flushes=tuple(event for event in found if isinstance(event, Flush)),
        done=next((event for event in found if isinstance(event, Done)), None),
        bad_lines=bad_lines,
    )


def parse_event(line: bytes) -> Event | None:
    """Read one line of a spool; None is an event that carries no measurement (`started`, or of a newer agent).

    Raises:
        SpoolFormatError: not JSON, or a field is missing or of the wrong kind.
    """
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise SpoolFormatError(f"not JSON: {error}") from None
    if not isinstance(data, dict):
        raise SpoolFormatError("not an object")
    read = _READERS.get(str(data.get("event")))
    return read(data) if read else None


def _request(data: Mapping[str, Any]) -> RequestTrace:
    meta = data.get("meta_info")
    return RequestTrace(
        block=_integer(data, "block"),
        index=_count(data, "index"),
        warmup=_boolean(data, "warmup"),
        chunks=_chunks(data.get("chunks")),
        completion_tokens=_count(data, "completion_tokens"),
        e2e_s=_seconds(data.get("e2e_s")),
        sent_at=None if data.get("sent_at") is None else _wall(data["sent_at"]),
        first_token_s=None if data.get("first_token_s") is None else _seconds(data["first_token_s"]),
        prompt_tokens=_optional_count(data, "prompt_tokens"),
        cached_tokens=_optional_count(data, "cached_tokens"),
        finish_reason=str(data.get("finish_reason") or ""),
        error=str(data.get("error") or ""),
        meta_info=meta if isinstance(meta, dict) else {},
        output_ids=_ids(data.get("output_ids")),
        output_text=_text(data.get("output_text")),
        output_cut=data.get("output_cut") is True,
    )


def _block(data: Mapping[str, Any]) -> BlockTrace:
    return BlockTrace(
        block=_count(data, "block"),
        requests=_count(data, "requests"),
        completion_tokens=_count(data, "completion_tokens"),
        wall_s=_seconds(data.get("wall_s")),
        client_cpu_s=_seconds(data.get("client_cpu_s", 0.0)),
        log_from=_optional_count(data, "log_from"),
        log_to=_optional_count(data, "log_to"),
    )


def _progress(data: Mapping[str, Any]) -> Progress:
    return Progress(
        block=_integer(data, "block"),
        blocks=_count(data, "blocks"),
        done=_count(data, "done"),
        of=_count(data, "of"),
        completion_tokens=_count(data, "completion_tokens"),
        elapsed_s=_seconds(data.get("elapsed_s")),
    )


def _flush(data: Mapping[str, Any]) -> Flush:
    return Flush(_count(data, "block"), _count(data, "status"))


def _done(data: Mapping[str, Any]) -> Done:
    return Done(_boolean(data, "valid"), str(data.get("why", "")), str(data.get("ended_by") or ""))


def _chunks(value: object) -> tuple[tuple[float, int], ...]:
    if not isinstance(value, list):
        raise SpoolFormatError("chunks is not a list")
    chunks: list[tuple[float, int]] = []
    for item in value:
        if not isinstance(item, list) or len(item) != 2 or type(item[1]) is not int:
            raise SpoolFormatError("a chunk is not [time, tokens]")
        chunk = (_seconds(item[0]), item[1])
        if chunks and (chunk[0] < chunks[-1][0] or chunk[1] <= chunks[-1][1]):
            raise SpoolFormatError("chunks do not grow")
        chunks.append(chunk)
    return tuple(chunks)


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < MAX_SECONDS:
        raise SpoolFormatError(f"not a time in seconds: {value!r:.40}")
    return float(value)


def _wall(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < MAX_WALL:
        raise SpoolFormatError(f"not a time since 1970: {value!r:.40}")
    return float(value)


def _ids(value: object) -> tuple[int, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(type(each) is int and each >= 0 for each in value):
        raise SpoolFormatError("output_ids is not a list of token ids")
    return tuple(value)


def _text(value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise SpoolFormatError("output_text is not a text")
    return value


def _integer(data: Mapping[str, Any], key: str) -> int:
    value = data.get(key)
    if type(value) is not int:
        raise SpoolFormatError(f"{key} is not a whole number")
    return value


def _count(data: Mapping[str, Any], key: str) -> int:
    value = _integer(data, key)
    if value < 0:
        raise SpoolFormatError(f"{key} is negative")
    return value


def _optional_count(data: Mapping[str, Any], key: str) -> int | None:
    return None if data.get(key) is None else _count(data, key)


def _boolean(data: Mapping[str, Any], key: str) -> bool:
    value = data.get(key)
    if not isinstance(value, bool):
        raise SpoolFormatError(f"{key} is neither true nor false")
    return value


_READERS: dict[str, Callable[[Mapping[str, Any]], Event]] = {
    "request": _request,
    "block": _block,
    "flush": _flush,
    "progress": _progress,
    "done": _done,
}
