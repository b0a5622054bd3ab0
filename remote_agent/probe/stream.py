"""Owns the reading of SGLang's `/generate` stream: bytes to events, events to token counts. Pure.

The form (SGLang 0.4.6 to 0.5.23): server-sent events, `data: {json}` and an empty line, at last `data: [DONE]`.
`text` and `output_ids` are cumulative, or incremental under `--incremental-streaming-output` (`--stream-output`
before 0.5.20); `meta_info.completion_tokens` is cumulative in both, so it alone is counted: a chunk is not a token.
"""

from __future__ import annotations

import json
import math
from typing import Any, Dict, Iterable, Iterator, List, Optional

MAX_LINE = 4 * 1024 * 1024
"""Bytes of one line: a cumulative event of 100,000 tokens is about 1.5 MB."""

DONE = b"[DONE]"

META_KEYS = 64
META_TEXT = 200
META_ITEMS = 256


class StreamError(Exception):
    """The stream is not what a server sends; `kind` names how."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


def events(parts: Iterable[bytes]) -> Iterator[Dict[str, Any]]:
    """Yield the JSON object of each event up to `[DONE]`; how the bytes are cut makes no difference.

    Raises:
        StreamError: line_too_long, invalid_json, not_an_object, server_error (the server reports a failure inside
            the stream), cut_off (the bytes end before `[DONE]`).
    """
    for payload in _payloads(parts):
        if payload.strip() == DONE:
            return
        yield _decode(payload)
    raise StreamError("cut_off", "the stream ended before [DONE]")


def meta_info(event: Dict[str, Any]) -> Dict[str, Any]:
    """Return the `meta_info` of an event. Raises StreamError(no_meta_info)."""
    meta = event.get("meta_info")
    if not isinstance(meta, dict):
        raise StreamError("no_meta_info", "an event has no meta_info")
    return meta


def token_count(meta: Dict[str, Any], before: int) -> int:
    """Return the tokens made so far. Raises StreamError(no_token_count): not a count, or less than `before`."""
    count = meta.get("completion_tokens")
    if not isinstance(count, int) or isinstance(count, bool) or count < before:
        raise StreamError("no_token_count", f"completion_tokens is {_short(count)!r} after {before}")
    return count


def finish_reason(meta: Dict[str, Any]) -> Optional[str]:
    """Return "length", "stop", "abort: why" …, or None while the request runs."""
    reason = meta.get("finish_reason")
    if reason is None:
        return None
    if not isinstance(reason, dict):
        return _short(reason)
    kind = _short(reason.get("type", "unknown"))
    return "{}: {}".format(kind, _short(reason["message"])) if reason.get("message") else kind


def capped(meta: Dict[str, Any]) -> Dict[str, Any]:
    """Return `meta` as an open map of bounded size: numbers, short texts, short lists of numbers, flat maps of them."""
    kept = {}
    for key in list(meta)[:META_KEYS]:
        value = _cap(meta[key], 1)
        if value is not None:
            kept[_short(key)] = value
    return kept


def _cap(value: Any, depth: int) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (bool, int)):
        return value if abs(value) < 2**63 else None
    if isinstance(value, str):
        return value[:META_TEXT]
    if isinstance(value, list) and len(value) <= META_ITEMS and all(_is_number(item) for item in value):
        return value
    if isinstance(value, dict) and depth and len(value) <= META_KEYS:
        return {_short(key): _cap(item, depth - 1) for key, item in value.items()}
    return None


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value) and abs(value) < 2**63


def _short(value: Any) -> str:
    return str(value)[:META_TEXT]


def _decode(payload: bytes) -> Dict[str, Any]:
    try:
        # NaN and Infinity are Python's own extensions: nobody downstream could read them back.
        event = json.loads(payload.decode("utf-8"), parse_constant=lambda _: None)
    except (ValueError, RecursionError) as error:
        raise StreamError("invalid_json", f"an event is not JSON: {_short(error)}") from None
    if not isinstance(event, dict):
        raise StreamError("not_an_object", "an event is not a JSON object")
    if "error" in event:
        raise StreamError("server_error", _error_text(event["error"]))
    return event


def _error_text(error: Any) -> str:
    return _short(error.get("message", error) if isinstance(error, dict) else error)


def _payloads(parts: Iterable[bytes]) -> Iterator[bytes]:
    data: List[bytes] = []
    size = 0
    for line in _lines(parts):
        if line.startswith(b"data:"):
            value = line[6:] if line.startswith(b"data: ") else line[5:]
            data.append(value)
            size += len(value)
            _check_size(size)
        elif not line and data:
            yield b"\n".join(data)
            data, size = [], 0


def _lines(parts: Iterable[bytes]) -> Iterator[bytes]:
    tail = bytearray()
    for part in parts:
        start = 0
        end = part.find(b"\n")
        while end >= 0:
            tail += part[start:end]
            _check_size(len(tail))
            yield bytes(tail[:-1] if tail.endswith(b"\r") else tail)
            tail = bytearray()
            start = end + 1
            end = part.find(b"\n", start)
        tail += part[start:]
        _check_size(len(tail))


def _check_size(size: int) -> None:
    if size > MAX_LINE:
        raise StreamError("line_too_long", f"an event is longer than {MAX_LINE} bytes")
