"""Owns the workload: what a probe asks of a server, from a profile's `probe:` to the agent's order."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from console.errors import UsageError
from console.probe.prompts import load_prompt_set, prompt_set_names
from console.validation import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LOOPBACK = "127.0.0.1"
DEFAULT_SET = "chat"
KEYS = (
    "prompt",
    "max_new_tokens",
    "requests_per_block",
    "blocks",
    "warmup",
    "concurrency",
    "temperature",
    "flush_cache",
    "timeout_s",
    "api",
    "model",
    "keep_output",
    "adaptive",
    "half_width",
    "budget_min",
)
APIS = ("generate", "completions", "chat")
"""SGLang's own /generate; /v1/completions; /v1/chat/completions."""
ADAPTIVE_BUDGET_MIN = 10.0
MOST_BLOCKS = 10_000


@dataclass(frozen=True, slots=True)
class Workload:
    """Prompts and how often they are sent.

    A block is `requests_per_block` requests, `concurrency` of them at a time: the unit of the statistics. Every request
    asks for `max_new_tokens` tokens and ignores the end of the text: every block makes the same number of tokens.
    """

    prompt_name: str
    """Name of a shipped set, or "text" or "input_ids" for a prompt of the profile's own."""
    texts: tuple[str, ...] = ()
    input_ids: tuple[tuple[int, ...], ...] = ()
    """Token ids in place of texts; one of the two is empty."""
    max_new_tokens: int = 200
    requests_per_block: int = 3
    """Three is one pass over a shipped set."""
    blocks: int = 3
    warmup: int = 1
    """Requests sent first and not counted; at least `concurrency` of them, unless 0."""
    concurrency: int = 1
    temperature: float = 0.0
    flush_cache: bool = True
    """Before each block. Not to be done on a server that is not ours."""
    timeout_s: float = 900.0
    """Of one request: a server on a CPU takes minutes."""
    api: str = "generate"
    """One of APIS."""
    model: str = ""
    """The name that the OpenAI forms ask for; empty: any, which is all that SGLang wants."""
    keep_output: bool = False
    """Keep what was generated: token ids, or text where a server gives none."""
    adaptive: bool = False
    """Add blocks after the first `blocks` of them, until the interval is narrow or the budget is spent."""
    half_width: float = 0.02
    """Relative half-width of the interval at which an adaptive run stops."""
    budget_min: float | None = None
    """Minutes after which no further block is begun; None is no limit. The warm-up counts."""

    @property
    def prompt_sha256(self) -> str:
        """Hash of all prompts: an edited set is another workload."""
        content = json.dumps([self.texts, self.input_ids], ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(content.encode("ascii")).hexdigest()

    @property
    def most_blocks(self) -> int:
        """Blocks after which a run ends by itself: an adaptive one ends by its budget, or when it is told to."""
        return MOST_BLOCKS if self.adaptive else self.blocks

    def to_spec(self, port: int, api_key: str | None = None, server_log: str | None = None) -> dict[str, Any]:
        """Return the order for the agent (`spec.json`). It holds the key: never store or show it.

        With the cache flushed, each run sends the very same prompts; without, the agent picks prefixes that no earlier
        run left in the cache. `server_log`: the file whose length is noted at both ends of a block.
        """
        spec: dict[str, Any] = {
            "host": LOOPBACK,
            "port": port,
            "api_key": api_key,
            "unique_prefix": True,
            "nonce": 0 if self.flush_cache else None,
            "max_new_tokens": self.max_new_tokens,
            "temperature": self.temperature,
            "ignore_eos": True,
            "warmup_requests": self.warmup,
            "blocks": self.most_blocks,
            "requests_per_block": self.requests_per_block,
            "concurrency": self.concurrency,
            "flush_cache": self.flush_cache,
            "timeout_s": self.timeout_s,
            "api": self.api,
            "model": self.model or None,
            "keep_output": self.keep_output,
            "budget_s": None if self.budget_min is None else 60 * self.budget_min,
            "server_log": server_log,
        }
        if self.input_ids:
            spec["input_ids"] = [list(ids) for ids in self.input_ids]
        else:
            spec["text"] = list(self.texts)
        return spec

    def identity(self) -> dict[str, Any]:
        """Return what two runs must have in common to be compared. The number of blocks is not of it."""
        return {
            "prompt": self.prompt_name,
            "prompt_sha256": self.prompt_sha256,
            "max_new_tokens": self.max_new_tokens,
            "requests_per_block": self.requests_per_block,
            "warmup": self.warmup,
            "concurrency": self.concurrency,
            "temperature": self.temperature,
            "flush_cache": self.flush_cache,
            "api": self.api,
        }


def workload_from_profile(
    probe: Mapping[str, object],
    read_set: Callable[[str], tuple[str, ...]] = load_prompt_set,
    set_names: Callable[[], tuple[str, ...]] = prompt_set_names,
) -> Workload:
    """Build the workload of a profile's `probe:` mapping; absent keys take their defaults.

    Raises:
        UsageError: an unknown key (the nearest is named), a value of the wrong kind, an unknown prompt set, a
            concurrency that a block never reaches, or token ids for the chat form. For data that no schema has checked
            yet: the profile loader reports all errors at once, with their places.
    """
    for key in probe:
        if key not in KEYS:
            raise UsageError(f"probe.{key}: unknown key", _nearest(key, KEYS) or f"Keys: {', '.join(KEYS)}.")
    prompt_name, texts, input_ids = _prompt(probe.get("prompt", DEFAULT_SET), read_set, set_names())
    concurrency = _integer(probe, "concurrency", 1, 1, 1024)
    requests = _integer(probe, "requests_per_block", max(3, concurrency), 1, 100_000)
    if requests < concurrency:
        raise UsageError(
            f"probe.concurrency: {concurrency} is never reached with {requests} requests a block",
            "Raise probe.requests_per_block to a multiple of it.",
        )
    api, adaptive = _api(probe, input_ids), _boolean(probe, "adaptive", False)
    budget_min = ADAPTIVE_BUDGET_MIN if adaptive else None
    return Workload(
        prompt_name=prompt_name,
        texts=texts,
        input_ids=input_ids,
        max_new_tokens=_integer(probe, "max_new_tokens", 200, 1, 131_072),
        requests_per_block=requests,
        blocks=_integer(probe, "blocks", 3, 1, MOST_BLOCKS),
        warmup=_integer(probe, "warmup", 1, 0, 10_000),
        concurrency=concurrency,
        temperature=_number(probe, "temperature", 0.0, 0.0, 100.0),
        flush_cache=_boolean(probe, "flush_cache", True),
        timeout_s=_number(probe, "timeout_s", 900.0, 0.001, 86_400.0),
        api=api,
        model=_model(probe),
        keep_output=_boolean(probe, "keep_output", False),
        adaptive=adaptive,
        half_width=_number(probe, "half_width", 0.02, 0.001, 0.5),
        budget_min=_number(probe, "budget_min", 0.0, 0.001, 1440.0) if "budget_min" in probe else budget_min,
    )


def _prompt(
    prompt: object, read_set: Callable[[str], tuple[str, ...]], names: tuple[str, ...]
) -> tuple[str, tuple[str, ...], tuple[tuple[int, ...], ...]]:
    if isinstance(prompt, (list, tuple)):
        if not prompt or not all(type(token) is int and token >= 0 for token in prompt):
            raise UsageError("probe.prompt: token ids are whole numbers, one at least", "Example: [5, 17, 300].")
        return "input_ids", (), (tuple(prompt),)
    if not isinstance(prompt, str) or not prompt.strip():
        raise UsageError("probe.prompt: expected the name of a prompt set, a text, or a list of token ids")
    if prompt in names:
        return prompt, read_set(prompt), ()
    if len(prompt.split()) == 1:
        hint = _nearest(prompt, names) or f"Sets: {', '.join(names)}. A prompt of your own has more than one word."
        raise UsageError(f"probe.prompt: there is no prompt set {prompt!r}", hint)
    return "text", (prompt,), ()


def _api(probe: Mapping[str, object], input_ids: tuple[tuple[int, ...], ...]) -> str:
    value = probe.get("api", "generate")
    if not isinstance(value, str) or value not in APIS:
        raise UsageError(f"probe.api: expected one of {', '.join(APIS)}, got {value!r}")
    if value == "chat" and input_ids:
        raise UsageError("probe.api: chat takes no token ids", "A text goes with it, or take `completions`.")
    return value


def _model(probe: Mapping[str, object]) -> str:
    value = probe.get("model", "")
    if not isinstance(value, str) or not value.isprintable() or len(value) > 500:
        raise UsageError(f"probe.model: expected a model's name, got {value!r:.80}")
    return value


def _nearest(word: str, known: tuple[str, ...]) -> str:
    near = nearest(word, known)
    return f"Did you mean {near!r}?" if near else ""


def _integer(probe: Mapping[str, object], key: str, default: int, low: int, high: int) -> int:
    value = probe.get(key, default)
    if type(value) is not int or not low <= value <= high:
        raise UsageError(f"probe.{key}: expected a whole number from {low} to {high}, got {value!r}")
    return value


def _number(probe: Mapping[str, object], key: str, default: float, low: float, high: float) -> float:
    value = probe.get(key, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
        raise UsageError(f"probe.{key}: expected a number from {low:g} to {high:g}, got {value!r}")
    return float(value)


def _boolean(probe: Mapping[str, object], key: str, default: bool) -> bool:
    value = probe.get(key, default)
    if not isinstance(value, bool):
        raise UsageError(f"probe.{key}: expected true or false, got {value!r}")
    return value
