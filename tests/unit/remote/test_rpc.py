"""The wire without I/O, fed with hostile bytes; and the tree of errors behind it."""

from __future__ import annotations

import itertools
import json

from hypothesis import given
from hypothesis import strategies as st

from console.remote.agent import ERRORS, console_error
from console.remote.rpc import Garbage, Notification, Reply, Rpc
from remote_agent.protocol import KINDS, MAX_LINE, AgentError


def line(**message: object) -> bytes:
    return json.dumps(message).encode() + b"\n"


WIRE = (
    b"motd: welcome\n"
    + line(jsonrpc="2.0", id=1, result={"a": 1})
    + line(jsonrpc="2.0", method="logs.batch", params={"stream": "1"})
    + b"\n"
    + line(jsonrpc="2.0", id=2, error={"code": -1, "message": "no", "data": {"kind": "locked", "hint": "wait"}})
    + b"\xff\xfe not json\n[1, 2]\n"
    + line(jsonrpc="2.0", id="x", result=1)
)


def messages(*parts: bytes) -> list[object]:
    rpc = Rpc()
    return [message for part in parts for message in rpc.receive(part)]


def test_messages_come_out_in_order_and_garbage_is_kept_apart():
    kinds = [type(each) for each in messages(WIRE)]
    assert kinds == [Garbage, Reply, Notification, Reply, Garbage, Garbage, Garbage]
    error = messages(WIRE)[3].error
    assert (error.kind, error.message, error.hint) == ("locked", "no", "wait")


@given(st.lists(st.integers(0, len(WIRE)), max_size=12))
def test_any_cut_gives_the_same_messages(cuts):
    edges = [0, *sorted(cuts), len(WIRE)]
    parts = [WIRE[a:b] for a, b in itertools.pairwise(edges)]
    assert [repr(each) for each in messages(*parts)][:3] == [repr(each) for each in messages(WIRE)][:3]
    assert len(messages(*parts)) == len(messages(WIRE))


@given(st.binary(max_size=2000))
def test_no_bytes_make_it_fail_or_swallow_what_follows(noise):
    found = messages(noise + b"\n" + line(id=5, result="ok"))
    assert isinstance(found[-1], Reply)
    assert found[-1].result == "ok"


def test_an_endless_line_is_dropped_and_the_next_one_read():
    rpc = Rpc()
    found: list[object] = []
    for _ in range(MAX_LINE // 65536 + 2):
        found += rpc.receive(b"x" * 65536)
    found += rpc.receive(b"rest\n" + line(id=9, result=True))
    assert [type(each) for each in found] == [Garbage, Reply]


def test_every_kind_of_the_agent_has_one_class_with_an_exit_code():
    assert set(ERRORS) == set(KINDS)
    for kind in KINDS:
        error = console_error(AgentError(kind, "m"))
        assert error.exit_code in {1, 2, 5}
        assert error.kind == kind
