"""JSON-RPC over bytes, without any I/O: lines in, messages out."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from remote_agent.protocol import KINDS, MAX_LINE, AgentError, ProtocolError, decode_line, encode_line


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


Incoming = Reply | Notification | Garbage


class Rpc:
    """One connection's framing and call numbers."""

    def __init__(self) -> None:
        self._ids = itertools.count(1)
        self._buffer = b""
        self._skipping = False

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
            elif line.strip():
                found.append(_decode(line))
        if len(self._buffer) > MAX_LINE:
            found.append(Garbage(f"a line longer than {MAX_LINE} bytes"))
            self._buffer, self._skipping = b"", True
        return found


def _decode(line: bytes) -> Incoming:
    try:
        message = decode_line(line)
    except ProtocolError:
        return Garbage(line[:200].decode("utf-8", "replace"))
    call_id, method, params = message.get("id"), message.get("method"), message.get("params")
    if isinstance(method, str) and isinstance(params, dict):
        return Notification(method, params)
    if not isinstance(call_id, int):
        return Garbage(line[:200].decode("utf-8", "replace"))
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
