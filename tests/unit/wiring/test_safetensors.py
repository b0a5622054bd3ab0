"""A safetensors header is believed only where it agrees with itself and with its file."""

from __future__ import annotations

import contextlib
import json
import struct
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.wiring.checkpoint import Tensor
from console.wiring.safetensors import MAX_HEADER_BYTES, BadHeader, Header, header_length, parse, values
from tests.examples import examples


def entry(dtype: str = "BF16", shape: object = (2, 3), begin: int = 0, end: int = 12) -> dict[str, object]:
    return {"dtype": dtype, "shape": list(shape) if isinstance(shape, tuple) else shape, "data_offsets": [begin, end]}


def raw(entries: object) -> bytes:
    return json.dumps(entries).encode()


def read(header: bytes, data_bytes: int = 12) -> Header:
    return parse(header, 8 + len(header) + data_bytes)


def test_names_dtypes_shapes_and_places():
    found = raw({"__metadata__": {"format": "pt"}, "fc.weight": entry(), "d2t": entry("I64", (2,), 12, 28)})
    header = read(found, 28)
    assert header.tensors == {"fc.weight": Tensor("BF16", (2, 3)), "d2t": Tensor("I64", (2,))}
    assert header.spans["d2t"] == (8 + len(found) + 12, 8 + len(found) + 28)
    assert header.data_bytes == 28


def test_a_scalar_and_a_dtype_that_is_not_known_are_read():
    assert read(raw({"scale": entry("F32", (), 0, 4)})).tensors["scale"].shape == ()
    assert read(raw({"new": entry("F2_X", (8,), 0, 2)})).tensors["new"].dtype == "F2_X"


@pytest.mark.parametrize(
    ("first", "size", "says"),
    [
        (b"\x01\x02", 2, "too short"),
        (struct.pack("<Q", 1 << 63), 1 << 20, "the header says"),
        (struct.pack("<Q", (1 << 64) - 1), 1 << 20, "the header says"),
        (struct.pack("<Q", 1000), 500, "the header says"),
        (b"version https://git-lfs.github.com/spec/v1", 130, "the header says"),
        (struct.pack("<Q", MAX_HEADER_BYTES + 1), 1 << 40, "are not read"),
    ],
)
def test_a_length_that_lies_is_refused_before_anything_is_read(first, size, says):
    with pytest.raises(BadHeader, match=says):
        header_length(first, size)


@pytest.mark.parametrize(
    ("header", "says"),
    [
        (b"\xff\xfe{}", "not UTF-8"),
        (b"{", "not JSON"),
        (b"[]", "no object"),
        (b'{"a": NaN}', "NaN"),
        (b'{"a": ' + b"[" * 100_000, "cannot be read"),
        (b'{"a": ' + b"9" * 5000 + b"}", "cannot be read"),
        (b'{"a": {"dtype": "F16"}, "a": {}}', "stands twice"),
        (b'{"a": {"dtype": "F16", "dtype": "F32"}}', "stands twice"),
        (raw({"a": 1}), "no dtype"),
        (raw({"a": entry(shape=[2, 3.0])}), "no dtype"),
        (raw({"a": entry(shape=[True, 6])}), "no dtype"),
        (raw({"a": entry(shape=[-2, -3])}), "no dtype"),
        (raw({"a": entry(shape=[1 << 64])}), "no dtype"),
        (raw({"a": entry(begin=12, end=0)}), "impossible"),
        (raw({"a": entry(shape=[1] * 33)}), "impossible"),
        (raw({"a": entry(shape=(2, 4))}), "do not agree"),
        (raw({"a": entry(), "b": entry(begin=6, end=18)}), "overlap"),
        (raw({"a": entry(begin=6, end=18)}), "more than the"),
    ],
)
def test_a_header_that_contradicts_itself_is_refused(header, says):
    with pytest.raises(BadHeader, match=says):
        read(header)


@pytest.mark.slow
def test_the_biggest_hostile_header_takes_bounded_memory():
    hostile = b'{"a":[' + b"[]," * ((MAX_HEADER_BYTES - 10) // 3) + b"1]}"
    tracemalloc.start()
    with pytest.raises(BadHeader):
        read(hostile)
    assert tracemalloc.get_traced_memory()[1] < 500 << 20
    tracemalloc.stop()


def test_whole_numbers_are_read_from_data():
    assert values(Tensor("I64", (3,)), struct.pack("<3q", -1, 0, 1 << 40)) == (-1, 0, 1 << 40)
    assert values(Tensor("BOOL", (2, 2)), b"\x01\x00\x00\x01") == (1, 0, 0, 1)
    assert values(Tensor("BF16", (1,)), b"\0\0") is None
    assert values(Tensor("I64", (3,)), b"\0" * 16) is None


@given(st.binary(max_size=200), st.integers(0, 1 << 64))
def test_any_bytes_give_a_length_or_a_clear_error(first, size):
    with contextlib.suppress(BadHeader):
        assert 0 <= header_length(first, size) <= min(size, MAX_HEADER_BYTES)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["dtype", "shape", "data_offsets", "a"]), inner, max_size=4)
    ),
    max_leaves=20,
)


@settings(max_examples=examples(200))
@given(st.binary(max_size=200) | _JSON.map(lambda data: json.dumps(data).encode()), st.integers(0, 1 << 40))
def test_any_header_is_read_or_refused(header, data_bytes):
    with contextlib.suppress(BadHeader):
        found = read(header, data_bytes)
        size = 8 + len(header) + data_bytes
        assert all(8 + len(header) <= begin <= end <= size for begin, end in found.spans.values())
