"""An agent that lies: half a hello, frames out of order, wrong forms, false sizes: named errors, no traceback."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import deque
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.errors import AgentStartFailed, ConsoleError, NodeLost, Refused
from console.remote import agent as agent_module
from console.remote import bootstrap
from console.remote.agent import Agent
from console.remote.answers import Malformed, from_wire
from console.remote.bootstrap import Started
from console.remote.bundle import Bundle
from console.remote.connection import Connection
from remote_agent import protocol as wire
from remote_agent.protocol import MAGIC, MAX_LINE, PROTOCOL, Hello
from tests.examples import examples

HELLO = Hello(MAGIC, PROTOCOL, "0" * 64, 7, "3.11", "boot", "machine", False, "")
LINE = json.dumps({"jsonrpc": "2.0", "method": "agent.hello", "params": wire.to_wire(HELLO)}).encode() + b"\n"
BUNDLE = Bundle(b"zip", "0" * 64)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


class Scripted:
    """A channel that says what it is told to, and hears nothing."""

    def __init__(self, *parts: bytes, stays: bool = False) -> None:
        self._parts = list(parts)
        self._stays = stays
        self.sent: list[bytes] = []

    async def read(self, _limit: int) -> bytes:
        while self._stays and not self._parts:
            await asyncio.Event().wait()
        return self._parts.pop(0) if self._parts else b""

    async def read_error(self, _limit: int) -> bytes:
        return b""

    async def write(self, data: bytes) -> None:
        self.sent.append(data)

    def write_eof(self) -> None:
        return None

    async def wait(self) -> int | None:
        return 0

    def close(self) -> None:
        return None


async def greeted(*parts: bytes) -> Started | None:
    found = await bootstrap._read_hello(Scripted(*parts), BUNDLE, checked=True)
    return found if isinstance(found, Started) else None


async def test_a_hello_is_found_behind_anything_that_is_not_one():
    started = await greeted(b"Welcome! {\n" + MAGIC.encode() + b" {}\n", b'{"params": [[[', b"\n" + LINE + b"rest")
    assert started
    assert started.hello == HELLO
    assert started.rest == b"rest"


@given(st.lists(st.binary(max_size=200), max_size=4), st.integers(0, len(LINE)), JSON)
@settings(max_examples=30, deadline=None)
def test_no_bytes_before_or_instead_of_a_hello_make_it_fail_otherwise(noise, cut, params):
    lie = json.dumps({"method": MAGIC, "params": params}).encode() + b"\n"

    async def course() -> None:
        try:
            await greeted(*noise, lie, LINE[:cut])
        except AgentStartFailed:
            return

    asyncio.run(course())


@pytest.mark.parametrize(
    "change", [{"protocol": 999}, {"sha256": "1" * 64}, {"pid": "7"}, {"readonly": 1}, {"python": None}, {"magic": 5}]
)
async def test_a_hello_of_another_agent_is_refused_or_is_none(change):
    line = json.dumps({"params": {**wire.to_wire(HELLO), "x": MAGIC, **change}}).encode() + b"\n"
    with contextlib.suppress(AgentStartFailed):
        assert await greeted(line) is None


def message(**given: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **given}).encode() + b"\n"


LIES = st.one_of(
    st.binary(max_size=80).map(lambda data: data + b"\n"),
    JSON.map(lambda value: json.dumps(value).encode() + b"\n"),
    st.builds(lambda a, b: message(method=a, params=b), st.sampled_from(["$/progress", "logs.batch", "x"]), JSON),
    st.builds(lambda a: message(method="$/progress", params={"id": a}), JSON),
    st.builds(lambda a: message(method="logs.batch", params={"stream": a}), JSON | st.sampled_from(["²", "9" * 5000])),
    st.builds(lambda a, b: message(id=a, result=b), st.integers(2, 9), JSON),
    st.builds(lambda a: message(id=9, error=a), JSON),
)


@given(st.lists(LIES, max_size=12), st.integers(1, 64))
@settings(max_examples=30, deadline=None)
def test_whatever_comes_before_it_an_answer_reaches_its_call(lies, step):
    """Garbage, answers to nobody, notifications of no stream, in any order and cut anywhere."""
    data = b"".join(lies) + b"\n" + message(id=1, result="here")
    parts = [data[at : at + step * 16] for at in range(0, len(data), step * 16)]

    async def course() -> None:
        connection = Connection(Started(Scripted(*parts, stays=True), HELLO, b"", False), deque(maxlen=9), lambda: None)
        try:
            async with asyncio.timeout(20):
                assert await connection.call("node.ping", {}, lambda told: told["no such key"]) == "here"
        finally:
            await connection.close()

    asyncio.run(course())


async def test_a_line_without_end_is_dropped_and_the_memory_stays_small():
    parts = [b"x" * 65536] * (3 * MAX_LINE // 65536)
    channel = Scripted(*parts, b"\n" + message(id=1, result=1), stays=True)
    connection = Connection(Started(channel, HELLO, b"", False), deque(maxlen=9), lambda: None)
    assert await connection.call("node.ping", {}, None) == 1
    assert len(connection._rpc._buffer) <= MAX_LINE
    await connection.close()


async def test_an_agent_that_floods_a_stream_is_hung_up_on():
    flood = message(method="logs.batch", params={"stream": "1"}) * 4000
    channel = Scripted(flood, flood, flood, stays=True)
    connection = Connection(Started(channel, HELLO, b"", False), deque(maxlen=9), lambda: None)

    async def follow() -> None:
        async for _ in connection.stream("logs.follow", {}):
            await asyncio.sleep(0)

    with pytest.raises(NodeLost, match="more than it may"):
        await follow()
    await connection.close()


@settings(max_examples=examples(50), deadline=None)
@given(JSON, st.sampled_from([wire.NodeFacts, wire.TelemetrySample, wire.FileContent, wire.ServerRuns, wire.LogHits]))
def test_an_answer_of_another_form_is_told_as_such(data, kind):
    with contextlib.suppress(Malformed):
        assert isinstance(from_wire(kind, data), kind)


@pytest.mark.parametrize("text", ['{"a": NaN}', '{"a": -Infinity}', '{"a": 1e999}', '{"a": [{"b": NaN}]}'])
def test_a_number_that_json_has_not_is_no_message(text):
    with pytest.raises(wire.ProtocolError):
        wire.decode_line(text.encode())


class Answering:
    """A session that gives the same answer to everything."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    async def read(self, _method: str, _params: dict[str, Any], *, timeout: float) -> Any:
        return self.answer


def content(**change: Any) -> dict[str, Any]:
    told = {
        "path": "/x",
        "data": wire.to_base64(b"x" * 1000),
        "sha256": "0" * 64,
        "size": 1 << 60,
        "offset": 0,
        "mode": 0,
    }
    return {**told, **change}


async def test_a_file_that_never_ends_is_given_up(monkeypatch):
    monkeypatch.setattr(agent_module, "MAX_WHOLE", 10_000)
    with pytest.raises(Refused, match="larger than"):
        await Agent(Answering(content()), "me@here").read_file("/x")


@pytest.mark.parametrize("change", [{"data": "%"}, {"data": 5}, {"size": "1"}, {"sha256": None}])
async def test_a_file_in_another_form_is_a_named_error(change):
    with pytest.raises(ConsoleError, match="another form"):
        await Agent(Answering(content(**change)), "me@here").read_file("/x")


async def test_hits_that_do_not_belong_together_are_a_named_error():
    from console.remote.node_logs import _found

    with pytest.raises(Malformed):
        _found(wire.LogHits(offsets=[1, 2], lengths=[1], kept=[1], data="", searched=0, total=0, matches=0, end=""))
