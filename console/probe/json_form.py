"""Owns the way back from stored JSON to frozen dataclasses, tolerant of keys that another version wrote."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def known_fields(
    cls: type, data: Mapping[str, Any], convert: Mapping[str, Callable[[Any], Any]] | None = None
) -> dict[str, Any]:
    """Return the entries of `data` that are fields of the dataclass `cls`, passed through `convert` by name."""
    convert = convert or {}
    names = {each.name for each in fields(cls)} & data.keys()
    return {name: convert[name](data[name]) if name in convert else data[name] for name in names}
