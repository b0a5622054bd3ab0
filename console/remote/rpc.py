"""JSON-RPC over bytes, without any I/O: lines in, messages out."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from remote_agent.protocol import KINDS, MAX_ANSWER, MAX_LINE, AgentError, ProtocolError, decode_line, encode_line


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to call `call_id`: a result, or an error."""

    call_id: int
    result: Any = None
    error: AgentError | None = None


@dataclass(frozen=True, slots=True)
class Notification:
    """Something the agent says by itself."""

    method: str
    params: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Garbage:
    """A line that is no message; kept for the report, at most 200 characters."""

    text: str


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of the text of a long answer."""

    call_id: int
    text: str
    more: bool


Incoming = Reply | Notification | Garbage
_OVERHEAD = 64
"""Bytes that a part costs us besides its text: many empty ones are no way around the limit."""


class Rpc:
    """One connection's framing and call numbers."""

    def __init__(self) -> None:
        self._ids = itertools.count(1)
        self._buffer = b""
        self._skipping = False
        self._parts = _Parts()

    def request(self, method: str, params: dict[str, Any]) -> tuple[int, bytes]:
        """Number a call and write it as a line. Raises ProtocolError when it is too long."""
        call_id = next(self._ids)
        return call_id, encode_line({"jsonrpc": "2.0", "id": call_id, "method": method, "params": params})

    @staticmethod
    def cancel(call_id: int) -> bytes:
        return encode_line({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": call_id}})

    @staticmethod
    def acknowledge(call_id: int) -> bytes:
        """Tell the agent that one notification of the call's stream was dealt with."""
        return encode_line({"jsonrpc": "2.0", "method": "$/ack", "params": {"id": call_id}})

    def receive(self, data: bytes) -> list[Incoming]:
        """Take bytes as they come; give the messages they complete."""
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        found: list[Incoming] = []
        for line in lines:
            if self._skipping:
                self._skipping = False
            elif line.strip() and (message := self._parts.taken(_decode(line))):
                found.append(message)
        if len(self._buffer) > MAX_LINE:
            found.append(Garbage(f"a line longer than {MAX_LINE} bytes"))
            self._buffer, self._skipping = b"", True
        return found


class _Parts:
    """Long answers of which not all parts have come."""

    def __init__(self) -> None:
        self._texts: dict[int, list[str]] = {}
        self._size = 0

    def taken(self, message: Incoming | Part) -> Incoming | None:
        """What a message completes: itself, or the answer whose last part it is; None when more of it is to come."""
        if not isinstance(message, Part):
            return message
        call_id, text = message.call_id, message.text
        self._texts.setdefault(call_id, []).append(text)
        self._size += len(text) + _OVERHEAD
        if self._size > MAX_ANSWER:
            self._forget(call_id)
            return Reply(call_id, error=AgentError("failed", f"an answer of more than {MAX_ANSWER} bytes"))
        if message.more:
            return None
        whole = "".join(self._texts[call_id])
        self._forget(call_id)
        answer = _decode(whole.encode())
        if isinstance(answer, Reply) and answer.call_id == call_id:
            return answer
        return Reply(call_id, error=AgentError("failed", "the parts of an answer do not make one"))

    def _forget(self, call_id: int) -> None:
        self._size -= sum(len(text) + _OVERHEAD for text in self._texts.pop(call_id))


def _decode(line: bytes) -> Incoming | Part:
    try:
        message = decode_line(line)
    except ProtocolError:
        return Garbage(line[:200].decode("utf-8", "replace"))
    call_id, method, params = message.get("id"), message.get("method"), message.get("params")
    if isinstance(method, str) and isinstance(params, dict):
        return Notification(method, params)
    if not isinstance(call_id, int):
        return Garbage(line[:200].decode("utf-8", "replace"))
    if isinstance(text := message.get("part"), str):
        return Part(call_id, text, message.get("more") is True)
    if "error" in message:
        return Reply(call_id, error=_error(message["error"]))
    return Reply(call_id, result=message.get("result"))


def _error(value: Any) -> AgentError:
    value = value if isinstance(value, dict) else {}
    data = value.get("data") if isinstance(value.get("data"), dict) else {}
    kind = data.get("kind")
    return AgentError(
        kind if kind in KINDS else "internal",
        str(value.get("message", "an error without a message")),
        str(data.get("hint", "")),
        str(data.get("detail", "")),
    )
