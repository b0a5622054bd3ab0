"""Messages survive the wire, and what is not one is refused by name."""

from __future__ import annotations

import dataclasses
import typing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remote_agent import protocol as wire
from tests.examples import FULL

MESSAGES = [
    value for name in wire.__all__ if isinstance(value := getattr(wire, name), type) and dataclasses.is_dataclass(value)
]


def _value(kind: typing.Any) -> st.SearchStrategy[typing.Any]:
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if kind is typing.Any:
        return st.none() | st.booleans() | st.integers() | st.text()
    if origin is typing.Union:
        return st.none() | _value(args[0])
    if origin is list:
        return st.lists(_value(args[0]), max_size=2)
    if origin is dict:
        return st.dictionaries(st.text(max_size=5), _value(args[1]), max_size=2)
    if dataclasses.is_dataclass(kind):
        return _message(kind)
    simple = {
        int: st.integers(),
        str: st.text(),
        bool: st.booleans(),
        float: st.floats(allow_nan=False, allow_infinity=False),
    }
    return simple[kind]


def _message(kind: typing.Any) -> st.SearchStrategy[typing.Any]:
    hints = typing.get_type_hints(kind)
    return st.builds(kind, **{field.name: _value(hints[field.name]) for field in dataclasses.fields(kind)})


@pytest.mark.parametrize("kind", MESSAGES, ids=lambda kind: kind.__name__)
@settings(max_examples=100 if FULL else 8)
@given(data=st.data())
def test_every_message_comes_back_as_it_was(kind, data):
    message = data.draw(_message(kind))
    line = wire.encode_line({"params": wire.to_wire(message)})
    assert wire.from_wire(kind, wire.decode_line(line)["params"]) == message


def test_a_missing_key_and_a_wrong_type_are_named():
    with pytest.raises(wire.ProtocolError, match=r"Identity: the key 'boot_id' is missing"):
        wire.from_wire(wire.Identity, {"pid": 1, "start_ticks": 2})
    with pytest.raises(wire.ProtocolError, match=r"Identity.pid: expected int, got str"):
        wire.from_wire(wire.Identity, {"pid": "1", "start_ticks": 2, "boot_id": ""})
    with pytest.raises(wire.ProtocolError, match=r"Identity.pid: expected int, got bool"):
        wire.from_wire(wire.Identity, {"pid": True, "start_ticks": 2, "boot_id": ""})


def test_an_unknown_key_is_ignored():
    given = {"pid": 1, "start_ticks": 2, "boot_id": "b", "new": 3}
    assert wire.from_wire(wire.Identity, given) == wire.Identity(1, 2, "b")


def test_a_line_over_the_limit_is_not_sent():
    with pytest.raises(wire.ProtocolError, match="over the limit"):
        wire.encode_line({"data": "x" * wire.MAX_LINE})
    with pytest.raises(wire.ProtocolError, match="over the limit"):
        wire.encode_answer({"jsonrpc": "2.0", "id": 1, "result": "x" * wire.MAX_ANSWER})


@given(st.binary())
def test_base64_brings_bytes_back(data):
    assert wire.from_base64(wire.to_base64(data)) == data


@given(st.binary(max_size=300))
def test_no_line_but_an_object_is_a_message(line):
    try:
        message = wire.decode_line(line)
    except wire.ProtocolError:
        return
    assert isinstance(message, dict)
