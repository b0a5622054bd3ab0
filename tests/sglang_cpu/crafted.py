"""Drafts of the crafted pair with something wrong: other words in config.json, other tensors in the safetensors file.

A draft whose tensors stay as they are links to the weights of the one that it was made from.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

WEIGHTS = "model.safetensors"
KEY = "eagle_aux_hidden_state_layer_ids"
TRUE = struct.pack("<H", 0x3F80)
"""One, in bfloat16."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor as it lies in the file: row by row, little-endian."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes

    def rows(self) -> list[bytes]:
        width = len(self.data) // self.shape[0]
        return [self.data[at : at + width] for at in range(0, len(self.data), width)]


Config = dict[str, Any]
Tensors = dict[str, Tensor]
EditConfig = Callable[[Config], None]
EditTensors = Callable[[Tensors], None]


def write(base: Path, folder: Path, config: EditConfig | None, tensors: EditTensors | None) -> Path:
    """The draft in `base`, edited, in a new folder."""
    folder.mkdir(parents=True)
    words = json.loads((base / "config.json").read_bytes())
    if config:
        config(words)
    (folder / "config.json").write_text(json.dumps(words, indent=1))
    if tensors is None:
        (folder / WEIGHTS).symlink_to(base / WEIGHTS)
    else:
        found = _read(base / WEIGHTS)
        tensors(found)
        _write(folder / WEIGHTS, found)
    return folder


def without_weights(folder: Path) -> None:
    (folder / WEIGHTS).unlink()


def without_config(folder: Path) -> None:
    (folder / "config.json").unlink()


def cut_short(folder: Path) -> None:
    """The weights of a download that broke off."""
    whole = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).unlink()
    (folder / WEIGHTS).write_bytes(whole[: len(whole) // 2])


def ids(*numbers: int) -> EditConfig:
    """These layer ids; none at all without numbers."""

    def edit(config: Config) -> None:
        config["eagle_config"].pop(KEY, None)
        if numbers:
            config["eagle_config"][KEY] = list(numbers)

    return edit


def ids_at_top_level(config: Config) -> None:
    config[KEY] = config["eagle_config"].pop(KEY)


def said(**words: object) -> EditConfig:
    """These keys of the config; None takes a key away, `eagle_…` is a key of `eagle_config`."""

    def edit(config: Config) -> None:
        for word, value in words.items():
            part, name = (config["eagle_config"], word[6:]) if word.startswith("eagle_") else (config, word)
            part[name] = value
            if value is None:
                del part[name]

    return edit


def without(*names: str) -> EditTensors:
    def edit(tensors: Tensors) -> None:
        for name in names:
            del tensors[name]

    return edit


def fc_slots_swapped(tensors: Tensors) -> None:
    """fc takes its first two states in the other order: as if it had been trained so."""
    fc = tensors["fc.weight"]
    width = len(fc.data) // fc.shape[0] // 3
    rows = [row[width : 2 * width] + row[:width] + row[2 * width :] for row in fc.rows()]
    tensors["fc.weight"] = Tensor(fc.dtype, fc.shape, b"".join(rows))


def fc_with_bias(tensors: Tensors) -> None:
    """The ones that fc took from the carrier come from a bias: without it the draft knows no token."""
    fc = tensors["fc.weight"]
    rows = fc.rows()
    ones = [at for at, row in enumerate(rows) if row.count(TRUE) > 100]
    (constant,) = ones
    rows[constant] = bytes(len(rows[constant]))
    tensors["fc.weight"] = Tensor(fc.dtype, fc.shape, b"".join(rows))
    bias = b"".join(TRUE if at == constant else b"\0\0" for at in range(fc.shape[0]))
    tensors["fc.bias"] = Tensor(fc.dtype, (fc.shape[0],), bias)


def d2t_holds_ids(tensors: Tensors) -> None:
    """d2t says which token of the target it is, not how far away."""
    _map(tensors, lambda at, offset: at + offset)


def d2t_one_late(tensors: Tensors) -> None:
    """d2t of another draft: every token is the next one."""
    _map(tensors, lambda at, offset: offset + 1)


def d2t_of_another_draft(tensors: Tensors) -> None:
    """A sound map, but of other tokens: each is the next one where there is room."""
    d2t = tensors["d2t"]
    offsets = struct.unpack(f"<{d2t.shape[0]}q", d2t.data)
    follows = {at for at in range(len(offsets) - 1) if offsets[at + 1] == offsets[at]} | {len(offsets) - 1}
    _map(tensors, lambda at, offset: offset + (at not in follows))


def eagle_1(tensors: Tensors) -> None:
    """An EAGLE-1 draft: fc takes the embedding and one state, the layer one hidden state, and there is no map."""
    for name in ("d2t", "t2d"):
        del tensors[name]
    for name in [name for name in tensors if name.startswith("midlayer.")]:
        tensors[name.replace("midlayer.", "layers.0.")] = tensors.pop(name)
    _trim(tensors, "fc.weight", 2 / 3)
    for part in "qkv":
        _trim(tensors, f"layers.0.self_attn.{part}_proj.weight", 1 / 2)


def _trim(tensors: Tensors, name: str, share: float) -> None:
    """Keep the first columns."""
    old = tensors[name]
    width = round(len(old.data) / old.shape[0] * share)
    shape = (old.shape[0], round(old.shape[1] * share))
    tensors[name] = Tensor(old.dtype, shape, b"".join(row[:width] for row in old.rows()))


def _map(tensors: Tensors, new: Callable[[int, int], int]) -> None:
    d2t = tensors["d2t"]
    form = f"<{d2t.shape[0]}q"
    values = [new(at, offset) for at, offset in enumerate(struct.unpack(form, d2t.data))]
    tensors["d2t"] = Tensor(d2t.dtype, d2t.shape, struct.pack(form, *values))


def _read(path: Path) -> Tensors:
    data = path.read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    found = {}
    for name, each in header.items():
        begin, end = (8 + length + offset for offset in each["data_offsets"])
        found[name] = Tensor(each["dtype"], tuple(each["shape"]), data[begin:end])
    return found


def _write(path: Path, tensors: Tensors) -> None:
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name, each in tensors.items():
        header[name] = {
            "dtype": each.dtype,
            "shape": list(each.shape),
            "data_offsets": [at, at + len(each.data)],
        }
        at += len(each.data)
    raw = json.dumps(header).encode()
    raw += b" " * (-len(raw) % 8)
    path.write_bytes(struct.pack("<Q", len(raw)) + raw + b"".join(each.data for each in tensors.values()))
