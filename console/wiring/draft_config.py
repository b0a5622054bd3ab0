"""Change the layer ids in the text of a draft's config.json and nothing else: order, spaces, line ends and BOM stay.

The file is somebody's own. What cannot be read in one way only (a key that stands twice, NaN) is refused, not mended.
"""

from __future__ import annotations

import codecs
import json
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NoReturn

from console.errors import UsageError
from console.wiring.layers import KEY, SECTION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_BYTES = 1 << 20
_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?\d+")
_DECODER = json.JSONDecoder(strict=True)


class NotEditable(UsageError):
    """The text is no config.json in which ids can be set without touching more."""


@dataclass(frozen=True, slots=True)
class _Member:
    """One member of an object: its name, and where the key's text and its value stand."""

    name: str
    key: int
    key_end: int
    value: int
    end: int


@dataclass(frozen=True, slots=True)
class _Object:
    """An object in the text, from its brace at `start` to behind its last brace."""

    start: int
    end: int
    members: tuple[_Member, ...]

    def member(self, name: str) -> _Member | None:
        return next((each for each in self.members if each.name == name), None)


def read(data: bytes) -> dict[str, Any]:
    """The config as data. Raises NotEditable for what is not one JSON object with one meaning."""
    return _load(_text(data))


def set_ids(data: bytes, ids: Sequence[int]) -> bytes:
    """The file with these ids in `eagle_config`, where SGLang reads them. Raises NotEditable."""
    text = _text(data)
    config = _load(text)
    top = _object(text, _SPACE.match(text).end())  # type: ignore[union-attr]
    new = _with_ids(text, top, config, [int(each) for each in ids])
    done = (codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b"") + new.encode("utf-8")
    if _load(new) != _expected(config, list(ids)):
        raise NotEditable("the edited text would not say what was meant", "Edit the file by hand.")
    return done


def _with_ids(text: str, top: _Object, config: Mapping[str, Any], ids: list[int]) -> str:
    section = top.member(SECTION)
    if section is None:
        return _insert(text, top, SECTION, _new_section(text, top, ids))
    if config[SECTION] is None:
        return text[: section.value] + _new_section(text, top, ids) + text[section.end :]
    if not isinstance(config[SECTION], dict):
        raise NotEditable(f"{SECTION} is no object", "Mend the config first.")
    eagle = _object(text, section.value)
    if not eagle.members:
        return text[: eagle.start] + _new_section(text, top, ids) + text[eagle.end :]
    old = eagle.member(KEY)
    if old is None:
        return _insert(text, eagle, KEY, _flat(text, eagle, ids))
    return text[: old.value] + _array(text[old.value : old.end], config[SECTION][KEY], ids) + text[old.end :]


def _array(old: str, values: Any, ids: list[int]) -> str:
    """The new list in the style of the old one."""
    if not isinstance(values, list) or not values or not all(type(each) is int for each in values):
        return json.dumps(ids)
    spans = [match.span() for match in _NUMBER.finditer(old)]
    before, after = old[: spans[0][0]], old[spans[-1][1] :]
    gaps = [old[left[1] : right[0]] for left, right in pairwise(spans)]
    gap = gaps[0] if gaps else "," + (before[1:] or " ")
    if len(ids) != len(values):
        gaps = [gap] * (len(ids) - 1)
    return before + "".join(str(each) + sep for each, sep in zip(ids, [*gaps, ""], strict=True)) + after


def _insert(text: str, into: _Object, name: str, value: str) -> str:
    """A new last member, written as the others are."""
    if not into.members:
        raise NotEditable("the config is an empty object", "It is no draft's config.")
    last = into.members[-1]
    member = f',{_lead(text, into)}"{name}"{_colon(text, into)}{value}'
    return text[: last.end] + member + text[last.end :]


def _new_section(text: str, top: _Object, ids: list[int]) -> str:
    lead = _lead(text, top)
    inner, outer = "", ""
    if "\n" in lead or "\r" in lead:
        indent = lead[max(lead.rfind("\n"), lead.rfind("\r")) + 1 :]
        inner, outer = lead + indent, lead
    return "{" + f'{inner}"{KEY}"{_colon(text, top)}{_flat(text, top, ids)}{outer}' + "}"


def _flat(text: str, like: _Object, ids: list[int]) -> str:
    return json.dumps(ids) if _colon(text, like).endswith(" ") else json.dumps(ids, separators=(",", ":"))


def _lead(text: str, into: _Object) -> str:
    """What stands before a member: the space behind the last comma, or behind the brace."""
    if len(into.members) > 1:
        at = into.members[-1].key
        return text[text.rindex(",", into.members[-2].end, at) + 1 : at]
    return text[into.start + 1 : into.members[0].key] if into.members else ""


def _colon(text: str, into: _Object) -> str:
    last = into.members[-1] if into.members else None
    return text[last.key_end : last.value] if last else ": "


def _object(text: str, start: int) -> _Object:
    """The members of the object at `start`; the text was read as JSON before, so it is well-formed."""
    members = []
    at = _space(text, start + 1)
    while text[at] != "}":
        name, key_end = _DECODER.raw_decode(text, at)
        value = _space(text, _space(text, key_end) + 1)
        _value, end = _DECODER.raw_decode(text, value)
        members.append(_Member(name, at, key_end, value, end))
        at = _space(text, end)
        if text[at] == ",":
            at = _space(text, at + 1)
    return _Object(start, at + 1, tuple(members))


def _space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    assert match is not None
    return match.end()


def _text(data: bytes) -> str:
    if len(data) > MAX_BYTES:
        raise NotEditable(f"the config has {len(data)} bytes, more than {MAX_BYTES}")
    try:
        return data.removeprefix(codecs.BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotEditable(f"the config is not UTF-8: {error.reason} at byte {error.start}") from None


def _load(text: str) -> dict[str, Any]:
    try:
        config = json.loads(text, object_pairs_hook=_once, parse_constant=_constant)
    except json.JSONDecodeError as error:
        raise NotEditable(f"the config is not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except (ValueError, RecursionError) as error:
        raise NotEditable(f"the config cannot be read: {str(error)[:200] or 'too deep'}") from None
    if not isinstance(config, dict):
        raise NotEditable("the config is JSON, but no object")
    return config


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _value in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise NotEditable(f"the key {twice[:80]!r} stands twice in one object: which one counts is not certain")
    return found


def _constant(name: str) -> NoReturn:
    raise NotEditable(f"the config holds {name}, which is not JSON")


def _expected(config: dict[str, Any], ids: list[int]) -> dict[str, Any]:
    eagle = config.get(SECTION)
    return {**config, SECTION: {**(eagle if isinstance(eagle, dict) else {}), KEY: ids}}
