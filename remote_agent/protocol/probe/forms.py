"""Owns the three APIs that a probe speaks: the request of each, and what its events say. Pure.

`/generate`: `meta_info.completion_tokens` is cumulative in each event of SGLang 0.4.6 to 0.5.23. `text` and
`output_ids` (not in 0.4.6) are cumulative too, or incremental under `--incremental-streaming-output`
(`--stream-output` before 0.5.20).

`/v1/completions`, `/v1/chat/completions`: deltas of text. `usage.completion_tokens` comes in each chunk where
`continuous_usage_stats` is known (0.5.5 to 0.5.23; not 0.4.6), else in the last chunk alone. A chunk is not a token:
speculation brings several at a time, and chat sends no chunk for those that make no text. So a stream that counts only
at its end has no chunks in its trace, and its trace says so.

Of speculation these two tell only if asked by `return_spec_tokens_details` (0.5.19 and newer), of the prefix cache by
`return_cached_tokens_details` (0.5.12 and newer): both in `sglext`, in a chunk near the end; older releases ignore the
keys. (`return_meta_info` is refused on a stream.)
"""

from __future__ import annotations

import json
from typing import Any, Dict, List, Optional, Tuple, Union

from remote_agent.protocol.probe.spec import Prompt, Spec
from remote_agent.protocol.probe.stream import Repeats, decode, finish_reason, meta_info, refuse_error, token_count

PATHS = {"generate": "/generate", "completions": "/v1/completions", "chat": "/v1/chat/completions"}

PER_EVENT = "per_event"
FINAL = "final"

OUTPUT_IDS = 16_384
OUTPUT_TEXT = 64 * 1024
"""Most ids, and characters, of a request that the spool keeps."""


def request_of(spec: Spec, prompt: Prompt) -> Tuple[str, bytes]:
    """Return path and JSON body."""
    body = _generate(spec, prompt) if spec.api == "generate" else _openai(spec, prompt)
    return PATHS[spec.api], json.dumps(body).encode("ascii")


def _generate(spec: Spec, prompt: Prompt) -> Dict[str, Any]:
    sampling = {
        "max_new_tokens": spec.max_new_tokens,
        "temperature": spec.temperature,
        "ignore_eos": spec.ignore_eos,
    }
    key, value = ("text", prompt) if isinstance(prompt, str) else ("input_ids", list(prompt))
    return {"sampling_params": sampling, "stream": True, key: value}


def _openai(spec: Spec, prompt: Prompt) -> Dict[str, Any]:
    body: Dict[str, Any] = {
        "model": spec.model,
        "max_tokens": spec.max_new_tokens,
        "temperature": spec.temperature,
        "ignore_eos": spec.ignore_eos,
        "stream": True,
        "stream_options": {"include_usage": True, "continuous_usage_stats": True},
        "return_spec_tokens_details": True,
        "return_cached_tokens_details": True,
    }
    if spec.api == "chat":
        body["messages"] = [{"role": "user", "content": prompt}]
    else:
        body["prompt"] = prompt if isinstance(prompt, str) else list(prompt)
    return body


class GenerateReader:
    """Reads the events of one `/generate` stream."""

    counts = PER_EVENT

    def __init__(self, keep_output: bool) -> None:
        self.tokens = 0
        self.meta: Dict[str, Any] = {}
        """`meta_info` of the last event that was decoded: the last of all, after `end`."""
        self._undecoded: Optional[bytes] = None
        self._repeats = Repeats()
        self._output = Output() if keep_output else None

    def read(self, payload: bytes) -> bool:
        """Take in one event and return whether it brought tokens. Raises StreamError."""
        before = self.tokens
        count = self._repeats.count(payload)
        if count is None or count < before:
            self._decode(payload)
        else:
            self.tokens, self._undecoded = count, payload
        return self.tokens > before

    def end(self) -> None:
        """The stream is over: decode the last event, if that is still to do. Raises StreamError."""
        if self._undecoded is not None:
            self._decode(self._undecoded)

    def _decode(self, payload: bytes) -> None:
        self._undecoded = None
        event = decode(payload)
        self.meta = meta_info(event)
        self.tokens = token_count(self.meta, self.tokens)
        if self._output:
            self._output.take(event, self.tokens)
        if self.meta.get("finish_reason") is None and (self._output is None or self._output.is_cumulative):
            self._repeats.learn(payload, self.meta)

    @property
    def has_begun(self) -> bool:
        """Has the server sent anything that it made?"""
        return self.tokens > 0

    @property
    def finish_reason(self) -> Optional[str]:
        """Why it ended; None while it runs."""
        return finish_reason(self.meta)

    def output(self) -> Dict[str, Any]:
        """Return the spool's fields of what was made; empty where it is not kept."""
        return self._output.record() if self._output else {}


class OpenAIReader:
    """Reads the chunks of one `/v1/completions` or `/v1/chat/completions` stream."""

    def __init__(self, keep_output: bool) -> None:
        self.tokens = 0
        self.counts = FINAL
        self.has_begun = False
        self.finish_reason: Optional[str] = None
        self._usage: Dict[str, Any] = {}
        self._extension: Dict[str, Any] = {}
        self._output = Output() if keep_output else None

    def read(self, payload: bytes) -> bool:
        """Take in one chunk and return whether it is known to have brought tokens. Raises StreamError."""
        event = decode(payload)
        refuse_error(event)
        choice = _first(event.get("choices"))
        text = _delta(choice)
        self.has_begun = self.has_begun or bool(text)
        if choice.get("finish_reason") is not None:
            self.finish_reason = finish_reason(choice)
        if self._output:
            self._output.append(text)
        self._extension = _extension(event.get("sglext")) or self._extension
        before = self.tokens
        if isinstance(event.get("usage"), dict):
            self._take_usage(event["usage"], bool(choice))
        return self.counts == PER_EVENT and self.tokens > before

    def end(self) -> None:
        """The stream is over."""

    @property
    def meta(self) -> Dict[str, Any]:
        """What these APIs tell, under the names of `meta_info`."""
        told: Dict[str, Any] = {"completion_tokens": self.tokens, "prompt_tokens": self._usage.get("prompt_tokens")}
        details = self._usage.get("prompt_tokens_details")  # with --enable-cache-report, where something was cached
        if isinstance(details, dict):
            told["cached_tokens"] = details.get("cached_tokens")
        told.update(self._extension)
        return told

    def output(self) -> Dict[str, Any]:
        """Return the spool's fields of what was made; empty where it is not kept."""
        return self._output.record() if self._output else {}

    def _take_usage(self, usage: Dict[str, Any], is_inside: bool) -> None:
        self._usage = usage
        self.tokens = token_count(usage, self.tokens)
        if is_inside and self.tokens:
            self.counts, self.has_begun = PER_EVENT, True


Reader = Union[GenerateReader, OpenAIReader]


def reader_of(spec: Spec) -> Reader:
    """Return a reader for one request's events."""
    return GenerateReader(spec.keep_output) if spec.api == "generate" else OpenAIReader(spec.keep_output)


class Output:
    """What one request made: ids where the events hold them, else text."""

    def __init__(self) -> None:
        self.is_cumulative = False
        """Each event holds all: the last one is enough."""
        self._ids: List[Any] = []
        self._text = ""

    def take(self, event: Dict[str, Any], tokens: int) -> None:
        """Take in an event of `/generate`, after which there are `tokens` tokens."""
        ids, text = event.get("output_ids"), event.get("text")
        if isinstance(ids, list):
            if self.is_cumulative or len(ids) == tokens:
                self.is_cumulative = bool(self._ids)  # of a first event it cannot be told
                self._ids = ids
            elif len(self._ids) <= OUTPUT_IDS:
                self._ids.extend(ids)
        elif isinstance(text, str):
            if self._text and text.startswith(self._text):
                self._text = text
            else:
                self.append(text)

    def append(self, text: str) -> None:
        """Take in a delta."""
        if len(self._text) <= OUTPUT_TEXT:
            self._text += text

    def record(self) -> Dict[str, Any]:
        """Return the spool's fields: ids or text, and whether they are cut."""
        if self._ids:
            ids = self._ids[:OUTPUT_IDS]
            is_sound = all(type(each) is int and 0 <= each < 2**63 for each in ids)
            return {"output_ids": ids if is_sound else None, "output_cut": len(self._ids) > OUTPUT_IDS}
        return {"output_text": self._text[:OUTPUT_TEXT], "output_cut": len(self._text) > OUTPUT_TEXT}


def _first(choices: Any) -> Dict[str, Any]:
    return choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}


def _delta(choice: Dict[str, Any]) -> str:
    delta = choice.get("delta")
    parts = [delta.get("reasoning_content"), delta.get("content")] if isinstance(delta, dict) else [choice.get("text")]
    return "".join(part for part in parts if isinstance(part, str))


def _extension(told: Any) -> Dict[str, Any]:
    """SGLang's own part of a chunk, under the names of `meta_info`."""
    told = told if isinstance(told, dict) else {}
    spec, cached = told.get("spec_tokens_details"), told.get("cached_tokens_details")
    found = dict(spec) if isinstance(spec, dict) else {}
    if isinstance(cached, dict):
        found["cached_tokens"] = sum(value for value in cached.values() if type(value) is int)
    return found
