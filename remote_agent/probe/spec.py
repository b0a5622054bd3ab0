"""Owns the order of a probe: `spec.json` as the console wrote it, checked before anything is sent."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple, Union

Prompt = Union[str, Tuple[int, ...]]

LOOPBACK = "127.0.0.1"
MAX_BYTES = 16 * 1024 * 1024

_INTEGERS = {  # name: (smallest, largest, default; None: it must be given)
    "port": (1, 65535, None),
    "max_new_tokens": (1, 131_072, None),
    "warmup_requests": (0, 10_000, 1),
    "blocks": (1, 10_000, 1),
    "requests_per_block": (1, 100_000, 1),
    "concurrency": (1, 1024, 1),
}
_BOOLEANS = {"unique_prefix": True, "ignore_eos": True, "flush_cache": False}
_NUMBERS = {"temperature": (0.0, 100.0, 0.0), "timeout_s": (0.001, 86_400.0, 900.0)}


class SpecError(ValueError):
    """The order cannot be carried out; the message names the key."""


@dataclass(frozen=True)
class Spec:
    """What to send, how often, and to which port of this node."""

    port: int
    prompts: Tuple[Prompt, ...]
    """Texts, or token ids; request j of each block takes prompt j modulo their number."""
    max_new_tokens: int
    warmup_requests: int
    blocks: int
    requests_per_block: int
    concurrency: int
    nonce: int
    """Start of the numbers that make prefixes unique: the same nonce gives the same prompts again. Where the order
    names none, it is the clock's: prompts that no earlier run left in the cache."""
    unique_prefix: bool
    ignore_eos: bool
    flush_cache: bool
    temperature: float
    timeout_s: float
    """Of one request, from connecting to its last byte."""
    api_key: Optional[str]


def read_spec(path: str) -> Spec:
    """Read and check `spec.json`. Raises SpecError."""
    try:
        with open(path, "rb") as file:
            data = json.loads(file.read(MAX_BYTES).decode("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise SpecError(f"the order cannot be read: {error}") from None
    return parse_spec(data)


def parse_spec(data: Any) -> Spec:
    """Check an order. Raises SpecError naming the first key that is wrong; unknown keys are ignored."""
    if not isinstance(data, dict):
        raise SpecError("the order is not a JSON object")
    if data.get("host", LOOPBACK) != LOOPBACK:
        raise SpecError(f"host: a probe on the node talks to {LOOPBACK} only")
    api_key = data.get("api_key")
    if api_key is not None and not _is_header_text(api_key):
        raise SpecError("api_key: not a printable ASCII text")
    values: Dict[str, Any] = {name: _integer(data, name) for name in _INTEGERS}
    values.update({name: _boolean(data, name) for name in _BOOLEANS})
    values.update({name: _number(data, name) for name in _NUMBERS})
    return Spec(prompts=_prompts(data), api_key=api_key or None, nonce=_nonce(data), **values)


def _is_header_text(value: Any) -> bool:
    return isinstance(value, str) and all(" " <= character <= "~" for character in value)


def _integer(data: Dict[str, Any], name: str) -> int:
    low, high, default = _INTEGERS[name]
    value = data.get(name, default)
    if type(value) is not int or not low <= value <= high:
        raise SpecError(f"{name}: expected a whole number from {low} to {high}")
    return value


def _nonce(data: Dict[str, Any]) -> int:
    value = data.get("nonce")
    if value is None:
        return time.time_ns()
    if type(value) is not int or not 0 <= value < 2**63:
        raise SpecError("nonce: expected a whole number")
    return value


def _boolean(data: Dict[str, Any], name: str) -> bool:
    value = data.get(name, _BOOLEANS[name])
    if type(value) is not bool:
        raise SpecError(f"{name}: expected true or false")
    return value


def _number(data: Dict[str, Any], name: str) -> float:
    low, high, default = _NUMBERS[name]
    value = data.get(name, default)
    if type(value) not in (int, float) or not low <= value <= high:
        raise SpecError(f"{name}: expected a number from {low} to {high}")
    return float(value)


def _prompts(data: Dict[str, Any]) -> Tuple[Prompt, ...]:
    texts, ids = data.get("text"), data.get("input_ids")
    if (texts is None) == (ids is None):
        raise SpecError("text, input_ids: exactly one of them is needed")
    name, given, is_prompt = ("text", texts, _is_text) if ids is None else ("input_ids", ids, _is_ids)
    if not isinstance(given, list) or not given or not all(is_prompt(prompt) for prompt in given):
        raise SpecError(f"{name}: expected a list of prompts, none of them empty")
    return tuple(prompt if isinstance(prompt, str) else tuple(prompt) for prompt in given)


def _is_text(prompt: Any) -> bool:
    return isinstance(prompt, str) and bool(prompt)


def _is_ids(prompt: Any) -> bool:
    ids: List[Any] = prompt if isinstance(prompt, list) else []
    return bool(ids) and all(type(token) is int and token >= 0 for token in ids)
