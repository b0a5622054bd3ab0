"""One request as a handler sees it, and the mark that makes a function a method."""

from __future__ import annotations

import threading
from typing import Any, Callable, Dict, Optional, Type, TypeVar, cast

from remote_agent.protocol import AgentError, ProtocolError, from_wire, to_wire
from remote_agent.wire import Wire

T = TypeVar("T")
WINDOW = 32
"""Notifications of one call that may be under way before the console has acknowledged the first."""
F = TypeVar("F", bound=Callable[..., Any])
_REQUIRED: Any = object()


class Request:
    """Parameters, cancellation and progress of one call."""

    def __init__(self, call_id: Any, params: Dict[str, Any], wire: Wire, closing: threading.Event) -> None:
        self.call_id = call_id
        self.params = params
        self.wire = wire
        self.stop = threading.Event()
        self.is_stream = False
        """It has sent notifications: its reply comes after them."""
        self._closing = closing
        self._credit = threading.Semaphore(WINDOW)

    @property
    def is_stopped(self) -> bool:
        """The console took the call back, or is gone: send no further signal, change nothing more."""
        return self.stop.is_set() or self._closing.is_set()

    def get(self, name: str, kind: Type[T], default: Any = _REQUIRED) -> T:
        """One parameter, checked. Raises AgentError(invalid)."""
        value = self.params.get(name, default)
        if value is _REQUIRED:
            raise AgentError("invalid", f"the parameter {name!r} is missing")
        if value is default and name not in self.params:
            return cast(T, default)
        if kind is float and type(value) is int:
            value = float(value)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise AgentError("invalid", f"the parameter {name!r} is not a {kind.__name__}")
        return value

    def message(self, kind: Type[T], name: Optional[str] = None) -> T:
        """The parameters (or one of them) as a message. Raises AgentError(invalid)."""
        try:
            return from_wire(kind, self.params if name is None else self.params.get(name))
        except ProtocolError as error:
            raise AgentError("invalid", str(error)) from None

    def acknowledge(self) -> None:
        """The console has dealt with one notification."""
        self._credit.release()

    def send(self, notification: str, message: Any) -> bool:
        """Send one message of this call's stream; wait while the window or the wire is full. False: give up."""
        self.is_stream = True
        while not self._credit.acquire(timeout=0.2):
            if self.is_stopped:
                return False
        return self.wire.send_bulk(notification, self._streamed(message), self.stop)

    def send_latest(self, notification: str, message: Any) -> None:
        """Send a message of which only the newest counts."""
        self.wire.send_latest(f"{notification}-{self.call_id}", notification, self._streamed(message))

    def _streamed(self, message: Any) -> Dict[str, Any]:
        return dict(to_wire(message), stream=str(self.call_id))

    def progress(self, **values: Any) -> None:
        """Tell the console how far it is; only the newest is kept while the wire is busy."""
        self.wire.send_latest(f"progress-{self.call_id}", "$/progress", dict(values, id=self.call_id))


def method(mutates: bool = False) -> Callable[[F], F]:
    """Mark a handler's function as callable from the console; a mutating one is refused by a read-only agent."""

    def mark(function: F) -> F:
        function.mutates = mutates  # type: ignore[attr-defined]
        return function

    return mark
