"""Owns the order of a probe, as the console wrote it: checked before anything is sent."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple, Union

Prompt = Union[str, Tuple[int, ...]]

LOOPBACK = "127.0.0.1"
APIS = ("generate", "completions", "chat")
"""SGLang's own `/generate`; `/v1/completions`; `/v1/chat/completions`."""

MODEL = "default"
"""The OpenAI forms want a name; SGLang takes any, and this where a request has none (`DEFAULT_MODEL_NAME`)."""

MOST_S = 30 * 86_400.0

_INTEGERS = {  # name: (smallest, largest, default; None: it must be given)
    "port": (1, 65535, None),
    "max_new_tokens": (1, 131_072, None),
    "warmup_requests": (0, 10_000, 1),
    "blocks": (1, 10_000, 1),
    "requests_per_block": (1, 100_000, 1),
    "concurrency": (1, 1024, 1),
}
_BOOLEANS = {"unique_prefix": True, "ignore_eos": True, "flush_cache": False, "keep_output": False}
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
    keep_output: bool
    """What the server made is kept with each request: ids, or text where the API gives none."""
    api: str
    """One of APIS."""
    model: str
    """The served name, for the OpenAI forms."""
    budget_s: Optional[float]
    """No block is begun later than this after the first one began; None: no limit."""
    server_log: Optional[str]
    """The server's log: its length is noted at both ends of a block, and a full KV cache pool in it ends the run."""
    api_key: Optional[str]

    def headers(self) -> Dict[str, str]:
        """Return the headers that go with each request."""
        headers = {"Content-Type": "application/json"}
        if self.api_key:
            headers["Authorization"] = "Bearer " + self.api_key
        return headers

    def masked(self, text: Optional[str]) -> Optional[str]:
        """Return `text` without the key, should a server echo it."""
        return text.replace(self.api_key, "***") if text and self.api_key else text


def parse_spec(data: Any) -> Spec:
    """Check an order. Raises SpecError naming the first key that is wrong; unknown keys are ignored."""
    if not isinstance(data, dict):
        raise SpecError("the order is not a JSON object")
    if data.get("host", LOOPBACK) != LOOPBACK:
        raise SpecError(f"host: a probe on the node talks to {LOOPBACK} only")
    values: Dict[str, Any] = {name: _integer(data, name) for name in _INTEGERS}
    values.update({name: _boolean(data, name) for name in _BOOLEANS})
    values.update({name: _number(data, name, *limits) for name, limits in _NUMBERS.items()})
    api, prompts = _api(data), _prompts(data)
    if api == "chat" and not isinstance(prompts[0], str):
        raise SpecError("input_ids: the chat API takes texts only")
    return Spec(
        prompts=prompts,
        api=api,
        model=_text(data, "model") or MODEL,
        budget_s=None if data.get("budget_s") is None else _number(data, "budget_s", 0.0, MOST_S, 0.0),
        server_log=_path(data, "server_log"),
        api_key=_api_key(data),
        nonce=_nonce(data),
        **values,
    )


def _api_key(data: Dict[str, Any]) -> Optional[str]:
    key = data.get("api_key")
    if key is not None and not (isinstance(key, str) and all(" " <= character <= "~" for character in key)):
        raise SpecError("api_key: not a printable ASCII text")
    return key or None


def _api(data: Dict[str, Any]) -> str:
    api = data.get("api", APIS[0])
    if api not in APIS:
        raise SpecError("api: expected one of " + ", ".join(APIS))
    return str(api)


def _text(data: Dict[str, Any], name: str) -> Optional[str]:
    value = data.get(name)
    if value is not None and not (isinstance(value, str) and value.isprintable()):
        raise SpecError(f"{name}: expected a text")
    return value


def _path(data: Dict[str, Any], name: str) -> Optional[str]:
    value = data.get(name)
    if value is not None and not (isinstance(value, str) and value.startswith("/") and "\0" not in value):
        raise SpecError(f"{name}: expected an absolute path")
    return value


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


def _number(data: Dict[str, Any], name: str, low: float, high: float, default: float) -> float:
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
