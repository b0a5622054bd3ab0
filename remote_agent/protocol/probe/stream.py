"""Owns the reading of a server's event stream: bytes to events, an event to what it says. Pure.

The form (SGLang 0.4.6 to 0.5.23): server-sent events, `data: {json}` and an empty line, at last `data: [DONE]`.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Dict, Iterator, List, Optional

MAX_LINE = 4 * 1024 * 1024
"""Bytes of one event: a cumulative one of 100,000 tokens is about 1.5 MB."""

DONE = b"[DONE]"

META_KEYS = 64
META_TEXT = 200
META_ITEMS = 256

# NaN and Infinity are Python's own extensions: nobody downstream could read them back.
_JSON = json.JSONDecoder(parse_constant=lambda _: None)
_DIGITS = b"0123456789"
_BEFORE_VALUE = re.compile(rb'[^\\]"meta_info"[ \t\n\r]*:[ \t\n\r]*(?={)')
_COUNT_KEY = b'"completion_tokens":'
_COUNT = re.compile(_COUNT_KEY + rb"[ \t\n\r]*([0-9]{1,15})[ \t\n\r]*[,}]")


class StreamError(Exception):
    """The stream is not what a server sends; `kind` names how."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


class EventStream:
    """A body as it comes in, to the payloads of its events; how the bytes are cut makes no difference."""

    def __init__(self) -> None:
        self.is_done = False
        """`[DONE]` has come."""
        self._tail = bytearray()
        self._data: List[bytes] = []
        self._size = 0

    def feed(self, part: bytes) -> Iterator[bytes]:
        """Yield the payload of each event that `part` completes. Raises StreamError(line_too_long)."""
        for payload in [part[6:-2]] if self._is_one(part) else self._payloads(part):
            if payload.strip() == DONE:
                self.is_done = True
                return
            yield payload

    def _is_one(self, part: bytes) -> bool:
        """Is it one event and nothing else? So a server sends them; to see it at once is half of the work."""
        end = len(part) - 2
        is_alone = part.startswith(b"data: ") and part.find(b"\n") == end and part.endswith(b"\n\n")
        return is_alone and not self._tail and not self._data and end <= MAX_LINE

    def _payloads(self, part: bytes) -> Iterator[bytes]:
        for line in self._lines(part):
            payload = self._take(line)
            if payload is not None:
                yield payload

    def _lines(self, part: bytes) -> Iterator[bytes]:
        lines = part.split(b"\n")
        last = lines.pop()
        for line in lines:
            if self._tail:
                line = bytes(self._tail) + line
                self._tail = bytearray()
            _check_size(len(line))
            yield line[:-1] if line.endswith(b"\r") else line
        self._tail += last
        _check_size(len(self._tail))

    def _take(self, line: bytes) -> Optional[bytes]:
        if line.startswith(b"data:"):
            value = line[6:] if line.startswith(b"data: ") else line[5:]
            self._data.append(value)
            self._size += len(value)
            _check_size(self._size)
        elif not line and self._data:
            payload = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
            self._data, self._size = [], 0
            return payload
        return None


def decode(payload: bytes) -> Dict[str, Any]:
    """Return an event's JSON object. Raises StreamError: invalid_json, not_an_object."""
    try:
        event = _JSON.decode(payload.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise StreamError("invalid_json", f"an event is not JSON: {_short(error)}") from None
    if not isinstance(event, dict):
        raise StreamError("not_an_object", "an event is not a JSON object")
    return event


def refuse_error(event: Dict[str, Any]) -> None:
    """Raise StreamError(server_error) where the server reports a failure inside the stream."""
    if "error" in event:
        error = event["error"]
        raise StreamError("server_error", _short(error.get("message", error) if isinstance(error, dict) else error))


class Repeats:
    """Tells the count of an event that repeats the last decoded one but for its numbers, without decoding it.

    A cumulative event carries all text and ids so far; decoding each was what made the probe itself slow. What tells
    the count stands at its end: `"meta_info"`, some hundred bytes, the same in each event but for digits. Why no text
    of a model can fake it: inside a JSON string every quote is escaped, so that `"meta_info"` with no backslash before
    it and a colon after it is a key, whatever the text is; it is a key of the event itself, for after its value comes
    only the one brace that closes the event; and what equals it but for digits has the same keys at the same places.
    Given up: broken JSON before `meta_info` is not noticed, unless in the last event, which is decoded in any case.
    """

    def __init__(self) -> None:
        self._form: Optional[bytes] = None

    def learn(self, payload: bytes, meta: Dict[str, Any]) -> None:
        """Take `payload`, whose `meta_info` is `meta`, for the form of the next events, where it has that form."""
        tail = _tail(payload)
        form = tail.translate(None, _DIGITS)
        value = _BEFORE_VALUE.match(tail)
        self._form = None
        if value and form.count(_COUNT_KEY) == 1 and _COUNT.search(tail):
            text = tail[value.end() :].decode("utf-8")
            found, end = _JSON.raw_decode(text)
            if found == meta and text[end:].strip(" \t\n\r") == "}":
                self._form = form

    def count(self, payload: bytes) -> Optional[int]:
        """Return the tokens made so far; None: decode the event."""
        tail = _tail(payload)
        if tail.translate(None, _DIGITS) != self._form:
            return None
        found = _COUNT.search(tail)
        return int(found[1]) if found else None


def _tail(payload: bytes) -> bytes:
    """The event from `"meta_info"` on, with the byte before it."""
    return payload[max(0, payload.rfind(b'"meta_info"') - 1) :]


def meta_info(event: Dict[str, Any]) -> Dict[str, Any]:
    """Return the `meta_info` of an event. Raises StreamError: server_error, no_meta_info."""
    meta = event.get("meta_info")
    if not isinstance(meta, dict):
        refuse_error(event)
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


def _check_size(size: int) -> None:
    if size > MAX_LINE:
        raise StreamError("line_too_long", f"an event is longer than {MAX_LINE} bytes")
