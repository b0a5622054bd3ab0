"""Owns how values of the state stand as plain data, and the way back by their types. Pure.

Dataclasses stand by their fields, tuples as lists, bytes as base64; numbers that JSON has not, as "nan", "inf", "-inf".
The way back checks every type: what it meets was written by anybody.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import importlib
import math
import sys
import types
import typing
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from console.launch.secrets import MASK, looks_secret

if TYPE_CHECKING:
    from collections.abc import Callable

TEXT_LIMIT = 256 * 1024
"""Characters of one text; the rest is left out, and that is said."""
_NAMES_FROM = (
    "console.logs.cycles",
    "console.logs.marks",
    "console.logs.phases",
    "console.logs.reading",
    "console.logs.series",
    "console.logs.shape_row",
    "console.logs.shapes",
    "console.logs.stats",
    "console.logs.window",
    "console.node.holders",
    "console.node.verdict",
    "console.state.log_state",
    "console.state.model",
    "console.state.nodes_state",
    "console.state.runs_state",
    "console.state.sweep_state",
    "remote_agent.protocol",
)
"""Where the names in annotations are from: they are imported for type checkers alone there."""
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


class DecodeError(ValueError):
    """Plain data is not of the type that is wanted; the text says where."""


def encode(value: Any, mask: Callable[[str], str]) -> Any:
    """Return plain data. `mask` goes over every text; in mappings, values under names of secrets are masked whole."""
    if isinstance(value, str):
        return _text(mask(value))
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, (list, tuple)):
        return [encode(item, mask) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _under(str(key), item, mask) for key, item in value.items()}
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    fields = dataclasses.fields(value)
    return {field.name: encode(getattr(value, field.name), mask) for field in fields}


def _under(key: str, item: Any, mask: Callable[[str], str]) -> Any:
    is_secret = isinstance(item, str) and bool(item) and key != "key" and looks_secret(key.replace("-", "_"))
    return MASK if is_secret else encode(item, mask)


def _text(text: str) -> str:
    cut = len(text) - TEXT_LIMIT
    return text if cut <= 0 else f"{text[:TEXT_LIMIT]}… ({cut} characters cut)"


def decode(kind: Any, data: Any, where: str) -> Any:
    """Return a value of the type `kind`. Raises DecodeError."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any or kind is object:
        return data
    if origin in (typing.Union, types.UnionType):
        return _one_of(inner, data, where)
    if origin is typing.Literal:
        if data not in inner:
            raise DecodeError(f"{where}: none of {', '.join(map(str, inner))}")
        return data
    if origin is tuple:
        return _tuple(inner, data, where)
    if origin is list:
        return [decode(inner[0], item, where) for item in _expect(data, list, where)]
    if origin in (dict, Mapping):
        return {key: decode(inner[1], item, f"{where}.{key[:40]}") for key, item in _expect(data, dict, where).items()}
    if dataclasses.is_dataclass(kind):
        return _dataclass(kind, _expect(data, dict, where), where)
    return _plain(kind, data, where)


def _one_of(kinds: tuple[Any, ...], data: Any, where: str) -> Any:
    if data is None and type(None) in kinds:
        return None
    errors = []
    for kind in kinds:
        if kind is not type(None):
            try:
                return decode(kind, data, where)
            except DecodeError as error:
                errors.append(error)
    raise errors[0]


def _tuple(inner: tuple[Any, ...], data: Any, where: str) -> tuple[Any, ...]:
    items = _expect(data, list, where)
    if len(inner) == 2 and inner[1] is Ellipsis:
        return tuple(decode(inner[0], item, where) for item in items)
    if len(items) != len(inner):
        raise DecodeError(f"{where}: {len(items)} values in place of {len(inner)}")
    return tuple(decode(kind, item, where) for kind, item in zip(inner, items, strict=True))


def _dataclass(kind: Any, data: dict[str, Any], where: str) -> Any:
    hints = field_types(kind)
    values = {}
    for field in dataclasses.fields(kind):
        if field.name in data:
            values[field.name] = decode(hints[field.name], data[field.name], f"{where}.{field.name}")
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise DecodeError(f"{where}.{field.name} is missing")
    return kind(**values)


def _plain(kind: Any, data: Any, where: str) -> Any:
    if kind is float:
        if isinstance(data, str) and data in _NOT_FINITE:
            return _NOT_FINITE[data]
        return _expect(data, (int, float), where)
    if kind is bytes:
        try:
            return base64.b64decode(_expect(data, str, where), validate=True)
        except ValueError:
            raise DecodeError(f"{where}: no base64") from None
    if kind in (str, int, bool):
        return _expect(data, kind, where)
    raise DecodeError(f"{where}: values of {kind} are not kept")


def _expect(data: Any, kind: Any, where: str) -> Any:
    if not isinstance(data, kind) or (isinstance(data, bool) and kind is not bool):
        raise DecodeError(f"{where}: {type(data).__name__} is not what belongs there")
    return data


@functools.cache
def field_types(kind: Any) -> dict[str, Any]:
    """Return the types of a dataclass's fields. Raises NameError where an annotation is not to be resolved."""
    own = vars(sys.modules[kind.__module__])
    return typing.get_type_hints(kind, {**_names(), **own})


@functools.cache
def _names() -> dict[str, Any]:
    found: dict[str, Any] = {"Mapping": Mapping, "Any": Any}
    for name in _NAMES_FROM:
        module = vars(importlib.import_module(name))
        found |= {key: value for key, value in module.items() if not key.startswith("_")}
    return found
