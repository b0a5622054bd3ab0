"""Small value forms that many log lines share: `key: value` lists, `key=value` lists, amounts, dimensions, bars.

Lists of pairs are read as open maps: SGLang put new keys into the middle of its lines in most releases.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console.logs.parser import Fields

KEY_LIMIT = 80
"""Characters of a printed key; SGLang's longest has 40."""

_BATCH_HEAD = re.compile(r"(Decode|Prefill) batch(?: \[(\d{1,12})\])?[.,] ")
_NUMBER = re.compile(r"-?\d{1,18}(\.\d{1,18})?(%?)")
_UNIT = re.compile(r"\s{0,4}\([^)]{0,40}\)$")
_WORDS = re.compile(r"[^a-z0-9]+")
_ASSIGNMENT = re.compile(r"(?:^|, )([A-Za-z_]\w{0,63})=([^,]{0,200})")
_GIGABYTES = re.compile(r"(avail mem|mem usage|avail_mem|available_gpu_mem)=(\d{1,9}(?:\.\d{1,9})?) GB")
_SECONDS = re.compile(r"(?:Time elapsed: |elapsed=)(\d{1,9}(?:\.\d{1,9})?) s")
_LIST = r"(?:\d{1,15}(?:, ?\d{1,15}){0,15},?)?"
_DIMS = re.compile(rf"{_LIST}|\({_LIST}\)|\[{_LIST}\]|torch\.Size\(\[{_LIST}\]\)")
_INTEGER = re.compile(r"\d+")
_BAR = re.compile(r"(?<!\d)(\d{1,3})%(?: Completed )?\|[^|]{0,400}?\|? {0,4}(\d{1,12})/(\d{1,12}) \[")


def value(text: str) -> object:
    """Return a printed value: bool, int, float, a percentage as a fraction of 1, or else the text itself."""
    if match := _NUMBER.fullmatch(text):
        if match[2]:
            return float(text[:-1]) / 100
        return float(text) if match[1] else int(text)
    return {"True": True, "False": False, "None": None}.get(text, text)


@lru_cache(maxsize=512)
def key(text: str) -> str:
    """Return a printed key in code's form: `#running-req` is running_req, `gen throughput (token/s)` gen_throughput."""
    return _WORDS.sub("_", _UNIT.sub("", text).lower()).strip("_")


def colon_pairs(text: str) -> Fields:
    """Read `#running-req: 1, token usage: 0.00, cuda graph: True`, in any order and with a comma at the end or not."""
    fields: Fields = {}
    for pair in text.split(","):
        name, colon, printed = pair.partition(": ")
        if colon and len(name) <= KEY_LIMIT and (name := key(name.strip())):
            fields[name] = value(printed.strip())
    return fields


def batch_pairs(message: str, word: str) -> Fields | None:
    """Read a `Decode batch` or `Prefill batch` line: `. ` behind the head to 0.5.3, `, ` from 0.5.5, ` [N], ` with
    SGLANG_LOG_FORWARD_ITERS."""
    head = _BATCH_HEAD.match(message)
    if head is None or head[1] != word:
        return None
    fields = colon_pairs(message[head.end() :])
    if head[2]:
        fields["iteration"] = int(head[2])
    return fields


def assignments(text: str) -> Fields:
    """Read `type=LlamaForCausalLM, max_running_requests=48`."""
    return {key(name): value(printed.rstrip(". ")) for name, printed in _ASSIGNMENT.findall(text)}


def amounts(text: str) -> Fields:
    """Read the seconds and gigabytes that are printed: elapsed_s, avail_mem_gb, mem_usage_gb, available_gpu_mem_gb."""
    fields: Fields = {f"{key(name)}_gb": float(number) for name, number in _GIGABYTES.findall(text)}
    if seconds := _SECONDS.search(text):
        fields["elapsed_s"] = float(seconds[1])
    return fields


@lru_cache(maxsize=4096)
def dims(text: str) -> tuple[int, ...] | None:
    """Read `6, 21504`, `(6,21504)`, `[6, 21504]` or `torch.Size([6, 21504])`; None when it is no shape."""
    if not _DIMS.fullmatch(text):
        return None
    return tuple(int(number) for number in _INTEGER.findall(text))


@dataclass(frozen=True, slots=True)
class Bar:
    """One state of a tqdm progress bar."""

    label: str
    done: int
    total: int


def bar(text: str) -> Bar | None:
    """Return the last state of a tqdm bar in `text`, or None."""
    last = None
    label_ends = 0
    for match in _BAR.finditer(text):
        label_ends = label_ends if last else match.start()
        last = match
    if last is None:
        return None
    return Bar(text[:label_ends].strip(" :"), int(last[2]), int(last[3]))
