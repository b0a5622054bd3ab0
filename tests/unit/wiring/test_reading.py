"""A checkpoint's folder, read from memory: what is asked for, and what is made of what comes."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.wiring import reading
from console.wiring.reading import Answer, Ask, Part, Reading
from tests.drafts import header

if TYPE_CHECKING:
    from console.wiring.checkpoint import Checkpoint

CONFIG = {"architectures": ["LlamaForCausalLMEagle3"], "hidden_size": 4}
FC = {"fc.weight": ("BF16", [4, 12])}
D2T = {"d2t": ("I64", [2])}


def file(tensors: dict[str, Any], data: bytes | None = None) -> bytes:
    head = header(tensors)
    size = max(end for each in json.loads(head[8:]).values() for end in [each["data_offsets"][1]])
    return head + (data if data is not None else b"\0" * size)


def folder(**files: Any) -> dict[str, bytes]:
    found = {"config.json": CONFIG, **{name.replace("__", "."): data for name, data in files.items()}}
    return {f"/d/{n}": json.dumps(d).encode() if isinstance(d, dict) else d for n, d in found.items()}


Answering = Callable[[Ask], Answer]


def answered(going: Reading, answer: Answering) -> tuple[Checkpoint, list[Ask]]:
    asks = [next(going)]
    while True:
        try:
            asks.append(going.send(answer(asks[-1])))
        except StopIteration as done:
            return done.value, asks


def run(files: dict[str, bytes], how: Any = reading.draft, path: str = "/d") -> tuple[Checkpoint, list[Ask]]:
    def answer(ask: Ask) -> Answer:
        data = files.get(ask.path)
        return "No such file" if data is None else Part(data[ask.offset : ask.offset + ask.length], len(data))

    return answered(how(path), answer)


def test_one_file():
    found, _ = run(folder(model__safetensors=file({**FC, **D2T}, b"\0" * 96 + struct.pack("<2q", 0, 5))))
    assert found.problem == ""
    assert found.config == CONFIG
    assert found.tensors is not None
    assert found.tensors["fc.weight"].shape == (4, 12)
    assert found.values == {"d2t": (0, 5)}
    assert found.weight_bytes == 96 + 16


def test_weights_are_never_asked_for():
    big = {"fc.weight": ("BF16", [1 << 20, 1 << 12]), **D2T}
    head = header(big)

    def answer(ask: Ask) -> Answer:
        if ask.path.endswith("config.json"):
            return Part(json.dumps(CONFIG).encode(), 100)
        return Part(b"\0" * ask.length if ask.offset else head, len(head) + (1 << 33) + 16)

    found, asks = answered(reading.draft("/d"), answer)
    assert found.tensors is not None
    assert sum(ask.length for ask in asks if ask.path.endswith("safetensors") and ask.offset) == 16


def test_shards_by_their_index():
    index = {"weight_map": {"fc.weight": "a.safetensors", "d2t": "b.safetensors"}}
    files = folder(model__safetensors__index__json=index, a__safetensors=file(FC), b__safetensors=file(D2T))
    found, _ = run(files)
    assert found.tensors is not None
    assert set(found.tensors) == {"fc.weight", "d2t"}
    assert found.problem == ""


@pytest.mark.parametrize(
    ("files", "says", "damage"),
    [
        ({}, "no model.safetensors", "no weights"),
        ({"pytorch_model__bin": b"x"}, "no header", ""),
        ({"model__safetensors": struct.pack("<Q", 1 << 63)}, "the header says", "damaged"),
        ({"model__safetensors": file(FC)[:-1]}, "need more than", "damaged"),
        ({"model__safetensors": struct.pack("<Q", 9 << 20) + b" " * (9 << 20)}, "are not read", ""),
        ({"model__safetensors__index__json": b"{"}, "cannot be read", ""),
        ({"model__safetensors__index__json": {"weight_map": {"a": "../../etc/passwd"}}}, "files elsewhere", ""),
        ({"model__safetensors__index__json": {"weight_map": {"a": 7}}}, "files elsewhere", ""),
        ({"model__safetensors__index__json": {"weight_map": {str(i): f"{i}" for i in range(300)}}}, "too many", ""),
        ({"model__safetensors__index__json": {"weight_map": {"a": "gone.safetensors"}}}, "is not there", "damaged"),
        (
            {
                "model__safetensors__index__json": {"weight_map": {"a": "1", "b": "2"}},
                **dict.fromkeys("12", file(FC)),
            },
            "in two files",
            "",
        ),
    ],
)
def test_shapes_that_cannot_be_had_are_said_and_the_config_stays(files, says, damage):
    found, _ = run(folder(**files))
    assert says in found.problem
    assert found.damage == damage
    assert found.config == CONFIG
    assert found.tensors is None


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "cannot be read"),
        (b"[1]", "no JSON object"),
        (b"[" * 200_000, "cannot be read"),
        (b"\xff", "cannot be read"),
        (b" " * (reading.MAX_CONFIG_BYTES + 1), "more than"),
    ],
)
def test_a_config_that_is_none(data, says):
    found, _ = run({"/d/config.json": data})
    assert says in found.problem
    assert found.config == {}


def test_a_repository_in_the_hub_cache():
    files = {"/d/refs/main": b"abc123\n", "/d/snapshots/abc123/config.json": json.dumps(CONFIG).encode()}
    assert run(files)[0].config == CONFIG
    _, asks = run({"/d/refs/main": b"../../../etc"})
    assert all(".." not in ask.path for ask in asks)


def test_a_config_alone():
    found, asks = run({"/x/draft.json": json.dumps(CONFIG).encode()}, path="/x/draft.json")
    assert found.config == CONFIG
    assert len(asks) == 1


@pytest.mark.parametrize("filler", [0, 100_000])
def test_the_bytes_of_a_target_come_from_its_index(filler):
    index = {"weight_map": {f"t{i}": "a" for i in range(filler // 10)}, "metadata": {"total_size": 12_345_678}}
    found, asks = run(folder(model__safetensors__index__json=index), reading.target)
    assert found.weight_bytes == 12_345_678
    assert sum(ask.length for ask in asks if ask.path.endswith("index.json")) <= 128 << 10


@given(st.dictionaries(st.sampled_from(["config.json", "model.safetensors", reading.INDEX]), st.binary(max_size=80)))
def test_any_folder_is_read_without_an_error(files):
    found, _ = run({f"/d/{name}": data for name, data in files.items()})
    assert found.config or found.problem
