"""The header of a safetensors file, from its bytes: each tensor's dtype, shape and place. No weights are read.

Format (https://github.com/huggingface/safetensors): u64 little-endian length, that many bytes of JSON, the data. A
header is foreign text: its length, its offsets and its JSON may all lie, so each is checked before it is believed.
"""

from __future__ import annotations

import json
from array import array
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any, NoReturn, TypeGuard

from console.errors import UsageError
from console.wiring.checkpoint import Tensor

if TYPE_CHECKING:
    from collections.abc import Mapping

LENGTH_BYTES = 8
MAX_HEADER_BYTES = 8 << 20
"""The format allows 100 MB. A draft's header has some 2 kB, one of a thousand experts 200 kB; hostile JSON of this
size is read within a second and 300 MB."""
MAX_DIMENSIONS = 32

_BITS = {
    **dict.fromkeys(("BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2", "F8_E8M0"), 8),
    **dict.fromkeys(("U16", "I16", "F16", "BF16"), 16),
    **dict.fromkeys(("U32", "I32", "F32"), 32),
    **dict.fromkeys(("U64", "I64", "F64", "C64"), 64),
    **{"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6},
}
_INTEGERS = {"BOOL": "B", "U8": "B", "I8": "b", "U16": "H", "I16": "h", "U32": "I", "I32": "i", "U64": "Q", "I64": "q"}
"""dtype → typecode of `array`, for tensors whose values are read."""


class BadHeader(UsageError):
    """The file is no safetensors file, or its header contradicts itself."""


class HeaderNotRead(BadHeader):
    """It may be sound: it is too long for us, or could not be read to its end."""


@dataclass(frozen=True, slots=True)
class Header:
    """What a header tells."""

    tensors: Mapping[str, Tensor]
    spans: Mapping[str, tuple[int, int]]
    """Where each tensor's data lie in the file, from the first byte to behind the last."""

    @property
    def data_bytes(self) -> int:
        """Bytes of all tensors."""
        return sum(end - begin for begin, end in self.spans.values())


def header_length(first: bytes, size: int) -> int:
    """How many bytes of JSON follow the length. `first` is how the file begins, `size` its bytes. Raises BadHeader."""
    if len(first) < LENGTH_BYTES:
        raise BadHeader(f"the file has {size} bytes: too short for a safetensors header")
    length = int.from_bytes(first[:LENGTH_BYTES], "little")
    if length > size - LENGTH_BYTES:
        raise BadHeader(
            f"the header says it has {length} bytes, the file has {size}",
            "It is cut off (a download that broke?), a Git LFS pointer, or no safetensors file.",
        )
    if length > MAX_HEADER_BYTES:
        raise HeaderNotRead(f"the header has {length} bytes, more than {MAX_HEADER_BYTES} are not read")
    return length


def parse(raw: bytes, size: int) -> Header:
    """Read the JSON of a header, of a file of `size` bytes. Raises BadHeader."""
    entries = _entries(raw)
    data_at = LENGTH_BYTES + len(raw)
    tensors: dict[str, Tensor] = {}
    spans: dict[str, tuple[int, int]] = {}
    for name, entry in entries.items():
        if name != "__metadata__":
            tensors[name], (begin, end) = _tensor(name, entry)
            spans[name] = (data_at + begin, data_at + end)
    _check_places(spans, size)
    return Header(tensors, spans)


def values(tensor: Tensor, data: bytes) -> tuple[int, ...] | None:
    """The whole numbers in a tensor's data; None where it holds no whole numbers, or other bytes than it says."""
    code = _INTEGERS.get(tensor.dtype)
    if code is None or len(data) * 8 != prod(tensor.shape) * _BITS[tensor.dtype]:
        return None
    numbers = array(code)
    numbers.frombytes(data)
    if array("H", b"\x01\x00")[0] != 1:
        numbers.byteswap()
    return tuple(numbers)


def _entries(raw: bytes) -> dict[str, Any]:
    try:
        entries = json.loads(raw.decode("utf-8"), object_pairs_hook=_once, parse_constant=_constant)
    except UnicodeDecodeError as error:
        raise BadHeader(f"the header is not UTF-8: {error.reason} at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise BadHeader(f"the header is not JSON: {error.msg} at byte {error.pos}") from None
    except (ValueError, RecursionError) as error:
        raise BadHeader(f"the header cannot be read: {str(error)[:200]}") from None
    if not isinstance(entries, dict):
        raise BadHeader("the header is JSON, but no object")
    return entries


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise BadHeader(f"the name {name[:80]!r} stands twice in the header")
        found[name] = value
    return found


def _constant(name: str) -> NoReturn:
    raise BadHeader(f"the header holds {name}, which is not JSON")


def _tensor(name: str, entry: object) -> tuple[Tensor, tuple[int, int]]:
    said: dict[str, Any] = entry if isinstance(entry, dict) else {}
    dtype, shape, place = (said.get(key) for key in ("dtype", "shape", "data_offsets"))
    if not (isinstance(dtype, str) and _is_sizes(shape) and _is_sizes(place) and len(place) == 2):
        raise BadHeader(f"the header's entry {name[:80]!r} is no dtype, shape and two data_offsets")
    begin, end = place
    if len(shape) > MAX_DIMENSIONS or begin > end:
        raise BadHeader(f"the header's entry {name[:80]!r} has an impossible shape or place")
    bits = _BITS.get(dtype)
    if bits is not None and prod(shape) * bits != (end - begin) * 8:
        raise BadHeader(f"{name[:80]!r} is {dtype} {list(shape)} and has {end - begin} bytes, which do not agree")
    return Tensor(dtype, tuple(shape)), (begin, end)


def _is_sizes(numbers: object) -> TypeGuard[list[int]]:
    return isinstance(numbers, list) and all(type(each) is int and 0 <= each < 1 << 63 for each in numbers)


def _check_places(spans: Mapping[str, tuple[int, int]], size: int) -> None:
    """Tensors lie beside each other and inside the file."""
    places = sorted((begin, end, name) for name, (begin, end) in spans.items())
    for (_, end, name), (begin, _, other) in pairwise(places):
        if begin < end:
            raise BadHeader(f"the data of {name[:80]!r} and {other[:80]!r} overlap")
    if places and max(end for _, end, _ in places) > size:
        raise BadHeader(f"the tensors need more than the {size} bytes of the file", "It is cut off: copy it again.")
