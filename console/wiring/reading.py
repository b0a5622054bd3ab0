"""Which bytes of a checkpoint's folder tell its wiring, asked for one part at a time; who has the files answers.

A generator asks, so that one reading serves a folder on a node and one on this machine. It reads config.json, the
headers of the safetensors files and the values of the small tensors that rules read; never weights.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from console.wiring import safetensors
from console.wiring.checkpoint import Checkpoint
from console.wiring.safetensors import LENGTH_BYTES, BadHeader, Header, HeaderNotRead

if TYPE_CHECKING:
    from console.wiring.checkpoint import Tensor


@dataclass(frozen=True, slots=True)
class Ask:
    """Wanted: up to `length` bytes of a file, from `offset` on."""

    path: str
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Part:
    """The answer: fewer bytes than wanted only where the file ends."""

    data: bytes
    size: int
    """Bytes of the whole file."""


Answer = Part | str
"""A string says why there is no such part."""
Reading = Generator[Ask, Answer, Checkpoint]

CONFIG, SINGLE, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
PICKLED = ("pytorch_model.bin", "pytorch_model.bin.index.json")
MAX_CONFIG_BYTES = 1 << 20
MAX_INDEX_BYTES = 8 << 20
MAX_SHARDS = 256
MAX_HEADERS_BYTES = 16 << 20
"""Of all shards together."""
MAX_VALUES_BYTES = 4 << 20
VALUES = ("d2t", "t2d")
_ALONE = ".json"
_FIRST_BYTES = 64 << 10
_TOTAL_SIZE = re.compile(rb'"total_size"\s*:\s*(\d{1,18})(?:\.0)?\b')
_REVISION = re.compile(r"[\w.-]{1,128}", re.ASCII)


def draft(path: str) -> Reading:
    """Read config, shapes of all tensors, and the vocabulary maps; `path` may be a config alone, too."""
    found, folder = yield from _config(path)
    if not found.config:
        return found
    if path.endswith(_ALONE):
        return replace(found, problem="a config alone: shapes are not checked")
    one = yield Ask(f"{folder}/{SINGLE}", 0, _FIRST_BYTES)
    if isinstance(one, Part):
        return (yield from _with_headers(found, {f"{folder}/{SINGLE}": one}))
    index = yield Ask(f"{folder}/{INDEX}", 0, MAX_INDEX_BYTES + 1)
    if isinstance(index, Part):
        return (yield from _sharded(found, folder, index))
    for name in PICKLED:
        if isinstance((yield Ask(f"{folder}/{name}", 0, 1)), Part):
            return replace(found, problem=f"the weights are {name}, which has no header: shapes are not checked")
    return replace(found, problem=f"no {SINGLE} in {folder}: shapes are not checked ({one})", damage="no weights")


def target(path: str) -> Reading:
    """Read config and how many bytes the weights have: a target's headers can be tens of megabytes."""
    found, folder = yield from _config(path)
    if not found.config or path.endswith(_ALONE):
        return found
    first = yield Ask(f"{folder}/{INDEX}", 0, _FIRST_BYTES)
    if isinstance(first, Part):
        last = yield Ask(f"{folder}/{INDEX}", max(0, first.size - _FIRST_BYTES), _FIRST_BYTES)
        for part in (first, last):
            total = _TOTAL_SIZE.search(part.data) if isinstance(part, Part) else None
            if total:
                return replace(found, weight_bytes=int(total[1]))
    one = yield Ask(f"{folder}/{SINGLE}", 0, LENGTH_BYTES)
    return replace(found, weight_bytes=one.size) if isinstance(one, Part) else found


def _config(path: str) -> Generator[Ask, Answer, tuple[Checkpoint, str]]:
    """The config, and the folder it is in: that of a snapshot where `path` is a repository in a Hugging Face cache."""
    folder = path.rstrip("/") or "/"
    alone = path.endswith(_ALONE)
    part = yield Ask(path if alone else f"{folder}/{CONFIG}", 0, MAX_CONFIG_BYTES + 1)
    if isinstance(part, str) and alone:
        return Checkpoint(path, problem=f"{path} cannot be read: {part}"), folder
    if isinstance(part, str):
        ref = yield Ask(f"{folder}/refs/main", 0, 256)
        name = ref.data.decode("ascii", "replace").strip() if isinstance(ref, Part) else ""
        if not _REVISION.fullmatch(name) or set(name) == {"."}:
            return Checkpoint(path, problem=f"no {CONFIG} in {folder}: {part}"), folder
        folder = f"{folder}/snapshots/{name}"
        part = yield Ask(f"{folder}/{CONFIG}", 0, MAX_CONFIG_BYTES + 1)
        if isinstance(part, str):
            return Checkpoint(path, problem=f"no {CONFIG} in {folder}: {part}"), folder
    config = _object(part.data, MAX_CONFIG_BYTES)
    if isinstance(config, str):
        return Checkpoint(path, problem=f"the config in {path} {config}", damage="damaged"), folder
    return Checkpoint(path, config), folder


def _object(data: bytes, limit: int) -> dict[str, Any] | str:
    """A JSON object as SGLang would read it (the last of two equal keys counts), or why it is none."""
    if len(data) > limit:
        return f"has more than {limit} bytes: not read"
    try:
        found = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        return f"cannot be read: {str(error)[:200]}"
    return found if isinstance(found, dict) and found else "holds no JSON object"


def _sharded(found: Checkpoint, folder: str, index: Part) -> Reading:
    said = _object(index.data, MAX_INDEX_BYTES)
    if isinstance(said, str):
        return replace(found, problem=f"{INDEX} {said}")
    places = said.get("weight_map")
    files = set(places.values()) if isinstance(places, dict) and all(map(_is_name, places.values())) else set()
    if not files or len(files) > MAX_SHARDS:
        return replace(found, problem=f"{INDEX} names no files, too many ({MAX_SHARDS} at most), or files elsewhere")
    parts: dict[str, Part] = {}
    for name in sorted(files):
        part = yield Ask(f"{folder}/{name}", 0, _FIRST_BYTES)
        if isinstance(part, str):
            return replace(found, problem=f"{name}, which {INDEX} names, is not there: {part}", damage="damaged")
        parts[f"{folder}/{name}"] = part
    return (yield from _with_headers(found, parts))


def _is_name(name: object) -> bool:
    return isinstance(name, str) and "/" not in name and "\0" not in name and name not in ("", ".", "..")


def _with_headers(found: Checkpoint, parts: dict[str, Part]) -> Reading:
    tensors: dict[str, Tensor] = {}
    maps: dict[str, tuple[int, ...]] = {}
    read = total = 0
    for path, part in parts.items():
        file = path.rpartition("/")[2]
        try:
            length = safetensors.header_length(part.data, part.size)
            read += length
            if read > MAX_HEADERS_BYTES:
                return replace(found, problem=f"the headers have more than {MAX_HEADERS_BYTES} bytes: not read")
            header = safetensors.parse((yield from _raw(path, part, length)), part.size)
        except HeaderNotRead as error:
            return replace(found, problem=f"{file}: {error.message}")
        except BadHeader as error:
            return replace(found, problem=f"{file}: {error.message}", damage="damaged")
        twice = tensors.keys() & header.tensors.keys()
        if twice:
            return replace(found, problem=f"the tensor {min(twice)[:80]!r} stands in two files")
        tensors |= header.tensors
        total += header.data_bytes
        maps |= yield from _maps(path, header)
    return replace(found, tensors=tensors, values=maps, weight_bytes=total)


def _raw(path: str, part: Part, length: int) -> Generator[Ask, Answer, bytes]:
    """The header's bytes, of which `part` has the first."""
    have = part.data[LENGTH_BYTES : LENGTH_BYTES + length]
    if len(have) == length:
        return have
    rest = yield Ask(path, LENGTH_BYTES + len(have), length - len(have))
    if isinstance(rest, str) or len(have) + len(rest.data) != length:
        raise HeaderNotRead("the header could not be read to its end: the file changed meanwhile")
    return have + rest.data


def _maps(path: str, header: Header) -> Generator[Ask, Answer, dict[str, tuple[int, ...]]]:
    found = {}
    for name, tensor in header.tensors.items():
        short = name.rpartition(".")[2]
        begin, end = header.spans[name]
        if short in VALUES and 0 < end - begin <= MAX_VALUES_BYTES:
            part = yield Ask(path, begin, end - begin)
            numbers = safetensors.values(tensor, part.data) if isinstance(part, Part) else None
            if numbers is not None:
                found[short] = numbers
    return found
