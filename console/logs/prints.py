"""Shapes as people print them while debugging: `fc in: torch.Size([6, 21504])`, `embeds.shape = (6, 7168)`.

Names are taken as printed; a tensor without one has None. Forms were collected from public debug patches.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from console.logs.fields import dims

TENSORS_LIMIT = 64
"""Tensors read from one line."""
_NAME_REACH = 160
"""Characters before a shape in which its name is looked for."""
_VALUES_REACH = 400
"""Characters behind a name or a shape in which values are looked for."""

_SHAPE = re.compile(
    r"torch\.Size\(\[([\d, ]{0,120})\]\)"
    r"|\bshape {0,3}[=:]? {0,3}[(\[](\d[\d, ]{0,120})[)\]]"
)
_RANK = re.compile(r"\[(?:\w{1,20} )?(?:rank ?|TP)(\d{1,6})\]")
_DTYPE = re.compile(r"\btorch\.(bfloat16|float\w{1,12}|u?int\d{1,2}|half|bool)\b|\b(bf16|fp16|fp32|fp8)\b")
_SHORT_DTYPES = {"bf16": "bfloat16", "fp16": "float16", "half": "float16", "fp32": "float32", "fp8": "float8"}
_DEVICE = re.compile(r"\b(cuda:\d{1,3}|cpu)\b")
_VALUE = re.compile(
    r"\b((?:abs)?max|min|mean|std|nan|inf)=(-?(?:\d{1,18}(?:\.\d{1,18})?(?:[eE][+-]?\d{1,4})?|nan|inf)\b)"
)
_TAG = re.compile(r"\[[^\]]{0,80}\]|={2,}>?")
_PAIR = re.compile(r"\b[\w.]{1,80}=(?=[^\s,]{1,80}(?:[,\s]|$))[^\s,]{1,80},?")
_DECORATION = re.compile(r"(?:\.?\bshapes?|\.size\(\))[ =:]{0,4}$")
_NAME = re.compile(r"[A-Za-z_][\w.]{0,40}(?: [A-Za-z_]\w{0,30}){0,2}$")


@dataclass(frozen=True, slots=True)
class Tensor:
    """One printed tensor."""

    name: str | None
    shape: tuple[int, ...]
    dtype: str | None = None
    device: str | None = None
    values: tuple[tuple[str, float], ...] = ()
    """What was printed of its values: max, min, mean, std, and how many are nan or inf."""


def printed_values(text: str) -> tuple[tuple[str, float], ...]:
    """Return (name, number) of a value summary, each name once: `mean=0.0021 std=nan nan=43008`."""
    found: dict[str, float] = {}
    for name, number in _VALUE.findall(text, 0, _VALUES_REACH):
        found.setdefault(name, float(number))
    return tuple(found.items())


def printed_tensors(message: str) -> tuple[Tensor, ...]:
    """Return the tensors of a line, in order."""
    found = []
    for match in _SHAPE.finditer(message):
        shape = dims(match[1] if match[1] is not None else match[2])
        if shape is not None:
            found.append((match, shape))
        if len(found) == TENSORS_LIMIT:
            break
    if not found:
        return ()
    ends = [match.start() for match, _ in found[1:]] + [len(message)]
    begins = [0] + [match.end() for match, _ in found[:-1]]
    return tuple(
        _tensor(message[max(begin, match.start() - _NAME_REACH) : match.start()], shape, message[match.end() : end])
        for (match, shape), begin, end in zip(found, begins, ends, strict=True)
    )


def printed_rank(message: str) -> int | None:
    """Return the rank that a person's own tag names, as in `[rank 3]` or `[EAGLE3 TP3]`."""
    match = _RANK.search(message[:_NAME_REACH])
    return int(match[1]) if match else None


def _tensor(before: str, shape: tuple[int, ...], after: str) -> Tensor:
    near = after[:_NAME_REACH]
    dtype = _DTYPE.search(near) or _DTYPE.search(before)
    device = _DEVICE.search(near) or _DEVICE.search(before)
    return Tensor(_name(before), shape, _dtype(dtype), device[1] if device else None, printed_values(after))


def _dtype(match: re.Match[str] | None) -> str | None:
    if match is None:
        return None
    printed = match[1] or match[2]
    return _SHORT_DTYPES.get(printed, printed)


def _name(before: str) -> str | None:
    text = before.rpartition("tensor(")[0] or before
    text = _DECORATION.sub("", text.rstrip(" [("))
    text = _PAIR.sub("", _TAG.sub("", text))
    text = text.split("  ")[-1].rpartition(",")[2].strip(" :=,.")
    match = _NAME.search(text)
    return match[0] if match else None
