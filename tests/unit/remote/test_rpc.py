"""The wire without I/O, fed with hostile bytes; and the tree of errors behind it."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.remote import rpc as rpc_module
from console.remote.agent import ERRORS, console_error
from console.remote.rpc import Garbage, Notification, Reply, Rpc
from remote_agent.protocol import KINDS, MAX_LINE, AgentError, encode_answer


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


@given(st.lists(st.integers(0, 3 * MAX_LINE // 2), min_size=1, max_size=3), st.data())
def test_long_answers_come_in_parts_between_which_anything_may_stand(sizes, data):
    answers = {n: {"jsonrpc": "2.0", "id": n, "result": ['"\\ü' * (size // 4)]} for n, size in enumerate(sizes)}
    waiting = {n: encode_answer(answer) for n, answer in answers.items()}
    assert all(len(each) <= MAX_LINE for lines in waiting.values() for each in lines)
    sent = []
    while waiting:
        n = data.draw(st.sampled_from(sorted(waiting)))
        sent += [waiting[n].pop(0), line(jsonrpc="2.0", method="$/progress", params={})]
        waiting = {n: lines for n, lines in waiting.items() if lines}
    replies = [each for each in messages(*sent) if isinstance(each, Reply)]
    assert {each.call_id: each.result for each in replies} == {n: each["result"] for n, each in answers.items()}


@pytest.mark.parametrize("part", ["", "x" * 1000])
def test_an_answer_without_an_end_is_an_error_and_the_next_call_goes_on(monkeypatch, part):
    monkeypatch.setattr(rpc_module, "MAX_ANSWER", 64_000)
    rpc, one = Rpc(), line(jsonrpc="2.0", id=3, part=part, more=True)
    many = 64_000 // (64 + len(part)) + 1
    assert rpc.receive(one * (many - 1)) == []
    (found,) = rpc.receive(one)
    assert (found.call_id, found.error.kind) == (3, "failed")
    assert rpc.receive(line(jsonrpc="2.0", id=4, result=1)) == [Reply(4, 1)]


@pytest.mark.parametrize(
    "text", ["", "nonsense", "[1]", '{"id": 8, "result": 1}', '{"id": 7, "part": "", "more": true}']
)
def test_parts_that_make_no_answer_end_their_call_with_an_error(text):
    (found,) = messages(line(jsonrpc="2.0", id=7, part=text, more=False))
    assert (found.call_id, found.error.kind) == (7, "failed")


def test_every_kind_of_the_agent_has_one_class_with_an_exit_code():
    assert set(ERRORS) == set(KINDS)
    for kind in KINDS:
        error = console_error(AgentError(kind, "m"))
        assert error.exit_code in {1, 2, 5}
        assert error.kind == kind
