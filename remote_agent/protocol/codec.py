"""Encode and decode: dataclasses to JSON lines and back. Pure."""

from __future__ import annotations

import base64
import dataclasses
import json
import typing
from typing import Any, Dict, List, Type, TypeVar

MAX_LINE = 512 * 1024
"""No line is longer, in bytes: asyncssh cuts a line at its 2 MiB window."""
MAX_ANSWER = 32 * 1024 * 1024
"""An answer that is longer than a line comes in parts; they are no more than this together, in bytes."""
_PART = MAX_LINE * 7 // 16  # each character may need a second byte where JSON is put into JSON

_INFINITY = float("inf")

T = TypeVar("T")


class ProtocolError(ValueError):
    """A message does not have the agreed form."""


def to_wire(value: Any) -> Any:
    """Turn a message into plain JSON data."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_wire(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, (list, tuple)):
        return [to_wire(item) for item in value]
    if isinstance(value, dict):
        return {str(key): to_wire(item) for key, item in value.items()}
    return value


def from_wire(cls: Type[T], data: Any) -> T:
    """Build a message from JSON data. Unknown keys are ignored; a missing or ill-typed one is a ProtocolError."""
    value = _decode(cls, data, cls.__name__)
    return typing.cast(T, value)


_HINTS: Dict[Any, Dict[str, Any]] = {}


def _hints(cls: Any) -> Dict[str, Any]:
    if cls not in _HINTS:
        _HINTS[cls] = typing.get_type_hints(cls)
    return _HINTS[cls]


def _decode(kind: Any, data: Any, where: str) -> Any:
    if kind is Any:
        return data
    origin = typing.get_origin(kind)
    if origin is typing.Union:
        inner = [arg for arg in typing.get_args(kind) if arg is not type(None)]
        return None if data is None else _decode(inner[0], data, where)
    if origin is list:
        return [_decode(typing.get_args(kind)[0], item, where + "[]") for item in _expect(data, list, where)]
    if origin is dict:
        inner = typing.get_args(kind)[1]
        return {key: _decode(inner, item, where + "." + key) for key, item in _expect(data, dict, where).items()}
    if dataclasses.is_dataclass(kind):
        return _decode_dataclass(kind, _expect(data, dict, where), where)
    if kind is float and type(data) is int:
        return float(data)
    return _expect(data, kind, where)


def _expect(data: Any, kind: Any, where: str) -> Any:
    if not isinstance(data, kind) or (kind is int and isinstance(data, bool)):
        raise ProtocolError(f"{where}: expected {kind.__name__}, got {type(data).__name__}")
    return data


def _decode_dataclass(kind: Any, data: Dict[str, Any], where: str) -> Any:
    hints = _hints(kind)
    values = {}
    for each in dataclasses.fields(kind):
        if each.name in data:
            values[each.name] = _decode(hints[each.name], data[each.name], where + "." + each.name)
        elif each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING:
            raise ProtocolError(f"{where}: the key {each.name!r} is missing")
    return kind(**values)


def encode_line(message: Dict[str, Any]) -> bytes:
    """Write one message as a line. Raises ProtocolError when it is longer than MAX_LINE."""
    line = json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"
    if len(line) > MAX_LINE:
        raise ProtocolError(f"a message of {len(line)} bytes is over the limit of {MAX_LINE}")
    return line


def encode_answer(message: Dict[str, Any]) -> List[bytes]:
    """Write an answer: a line, or where that is too long its text in parts. Raises ProtocolError over MAX_ANSWER."""
    text = json.dumps(message, separators=(",", ":"))
    if len(text) < MAX_LINE:
        return [text.encode("ascii") + b"\n"]
    if len(text) > MAX_ANSWER:
        raise ProtocolError(f"an answer of {len(text)} bytes is over the limit of {MAX_ANSWER}")
    common = {name: message[name] for name in ("jsonrpc", "id")}
    cuts = range(0, len(text), _PART)
    return [encode_line(dict(common, part=text[at : at + _PART], more=at != cuts[-1])) for at in cuts]


def decode_line(line: bytes) -> Dict[str, Any]:
    """Read one message. Raises ProtocolError for anything but a JSON object."""
    try:
        message = json.loads(line.decode("utf-8"), parse_constant=_no_number, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"not a JSON line: {error}") from None
    if not isinstance(message, dict):
        raise ProtocolError("not a JSON object")
    return message


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no number of JSON")


def _finite(text: str) -> float:
    value = float(text)
    if value in (_INFINITY, -_INFINITY):
        raise ValueError(f"{text[:20]} is no number of ours")
    return value


def to_base64(data: bytes) -> str:
    """Bytes as they travel."""
    return base64.b64encode(data).decode("ascii")


def from_base64(text: str) -> bytes:
    """Bytes as they were. Raises ProtocolError when the text is not base64."""
    try:
        return base64.b64decode(text.encode("ascii"), validate=True)
    except ValueError as error:
        raise ProtocolError(f"not base64: {error}") from None
