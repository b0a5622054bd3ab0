"""Bytes of an HTTP answer to its status and body, however they are cut; the standard library is the witness."""

from __future__ import annotations

import http.client
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remote_agent.probe.http1 import Response, post
from remote_agent.protocol.probe.stream import StreamError
from tests.unit.probe.test_stream import cut

HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"content-type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def outcome(parts):
    """Status, body, and how it ended: whole, open, or the kind of its error."""
    response, body = Response(), b""
    try:
        for part in parts:
            body += response.feed(part)
        return response.status, body, "whole" if response.is_done else "open"
    except StreamError as error:
        return response.status, body, error.kind


class Canned:
    """A socket whose other side has sent `data` and closed."""

    def __init__(self, data):
        self.data = data

    def makefile(self, *_):
        return io.BytesIO(self.data)


def chunked(parts, extension=b"", trailer=b""):
    body = b"".join(b"%x%s\r\n%s\r\n" % (len(part), extension, part) for part in parts)
    return CHUNKED + body + b"0\r\n" + trailer + b"\r\n"


PARTS = st.lists(
    st.binary(min_size=1, max_size=40) | st.sampled_from([b"\r\n", b"0\r\n\r\n", b"data: {}\n\n"]), max_size=8
)


@given(PARTS, st.sampled_from([b"", b";a=1", b" ; b"]), st.sampled_from([b"", b"x: y\r\n"]), st.lists(st.integers(0)))
def test_a_chunked_body_reads_as_the_standard_library_reads_it(parts, extension, trailer, places):
    data = chunked(parts, extension, trailer)
    witness = http.client.HTTPResponse(Canned(data))
    witness.begin()
    assert outcome(cut(data, places)) == (witness.status, witness.read(), "whole")


@given(st.binary(max_size=60), st.lists(st.integers(0)))
def test_a_body_of_a_given_length_ends_there(body, places):
    data = b"HTTP/1.1 500 Oh\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    assert outcome(cut(data + b"more", places)) == (500, body, "whole")


@given(st.binary(max_size=60), st.lists(st.integers(0)))
def test_a_body_of_no_given_length_ends_with_the_connection(body, places):
    assert outcome(cut(b"HTTP/1.0 200 OK\n\n" + body, places)) == (200, body, "open")


PIECES = st.sampled_from(
    [HEAD, b"\r\n", b"\n", b"5\r\nhello", b"0\r\n", b"transfer-encoding: chunked\r\n", b"x", b"\xff"]
)


@given(st.lists(PIECES, max_size=12).map(b"".join) | st.binary(max_size=80), st.lists(st.integers(0)))
def test_any_bytes_read_the_same_however_they_are_cut(data, places):
    status, body, end = outcome(cut(data, places))
    assert (status, end) == outcome([data])[::2]
    if end != "bad_http":  # what came before the fault may have been passed on already
        assert body == outcome([data])[1]


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        CHUNKED + b"zz\r\n",
        CHUNKED + b"2\r\nabc\r\n",
        CHUNKED + b"\r\n",
        CHUNKED + b"ffffffffffffffffffff\r\n",
        CHUNKED + b"1" * 5000,
        HEAD + b"a: b\r\n" * 20_000,
    ],
    ids=["no http", "length", "size", "too long", "no size", "huge", "endless size", "endless head"],
)
def test_what_is_no_answer_is_refused(data):
    assert outcome([data])[2] == outcome([data[i : i + 100] for i in range(0, len(data), 100)])[2] == "bad_http"


@pytest.mark.parametrize(
    "data", [b"", HEAD, CHUNKED + b"5\r\nhe", CHUNKED + b"5\r\nhello\r\n", HEAD + b"Content-Length: 9\r\n\r\nx"]
)
def test_a_connection_closed_inside_the_answer_is_an_error(data):
    response = Response()
    response.feed(data)
    with pytest.raises(StreamError) as caught:
        response.close()
    assert caught.value.kind == "connection"


def test_a_connection_may_close_where_the_length_was_not_given():
    response = Response()
    assert response.feed(HEAD + b"\r\nbody") == b"body"
    response.close()
    assert response.is_done


def test_a_request_is_one_that_the_standard_library_understands():
    head, _, body = post("/generate", b"{}", {"Authorization": "Bearer sk-1"}).partition(b"\r\n")
    fields, _, rest = body.partition(b"\r\n\r\n")
    told = http.client.parse_headers(io.BytesIO(fields + b"\r\n\r\n"))
    assert head == b"POST /generate HTTP/1.1"
    assert (told["Host"], told["Content-Length"], told["Connection"]) == ("127.0.0.1", "2", "close")
    assert told["Authorization"] == "Bearer sk-1"
    assert rest == b"{}"
