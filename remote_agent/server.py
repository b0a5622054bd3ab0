"""Dispatch: requests to handler functions on threads, cancel, the read-only switch, the writer lock."""

from __future__ import annotations

import contextlib
import importlib
import os
import pkgutil
import threading
import traceback
from typing import Any, Callable, Dict, Iterator

from remote_agent import handlers, lock, silence, state_dir
from remote_agent.node import Node
from remote_agent.protocol import AgentError, ProtocolError, to_wire
from remote_agent.request import Request
from remote_agent.wire import Wire, WireClosed

DRAIN_S = 5.0
"""How long calls under way may finish after EOF; none of them starts anything new then."""

_CODES = {"invalid": -32602, "internal": -32603}
_APPLICATION_ERROR = -32000


class Server:
    """Serves one wire until EOF."""

    def __init__(self, node: Node, wire: Wire) -> None:
        self._node = node
        self._wire = wire
        self._methods = discover()
        self._running: Dict[Any, Request] = {}
        self._threads: Dict[Any, threading.Thread] = {}

    def run(self) -> None:
        with contextlib.suppress(silence.Silent), silence.limit():
            for message in self._wire.messages():
                silence.heard()
                self._take(message)
        self._node.closing.set()
        for thread in list(self._threads.values()):
            thread.join(DRAIN_S)
        self._wire.close()

    def _take(self, message: Any) -> None:
        if isinstance(message, ProtocolError):
            self._reply_error(None, AgentError("invalid", str(message)))
        elif message.get("method") == "$/cancelRequest":
            self._with_running(message.get("params"), lambda request: request.stop.set())
        elif message.get("method") == "$/ack":
            self._with_running(message.get("params"), Request.acknowledge)
        else:
            self._start(message)

    def _with_running(self, params: Any, act: Callable[[Request], None]) -> None:
        request = self._running.get(params.get("id")) if isinstance(params, dict) else None
        if request:
            act(request)

    def _start(self, message: Dict[str, Any]) -> None:
        call_id, params = message.get("id"), message.get("params", {})
        if not isinstance(call_id, int) or not isinstance(params, dict):
            self._reply_error(None, AgentError("invalid", "a request needs an integer id and an object of params"))
            return
        request = Request(call_id, params, self._wire, self._node.closing)
        self._running[call_id] = request
        thread = threading.Thread(target=self._answer, args=(message.get("method"), request), daemon=True)
        self._threads[call_id] = thread
        thread.start()

    def _answer(self, name: Any, request: Request) -> None:
        try:
            result = to_wire(self._call(name, request))
            send = self._wire.send_after_bulk if request.is_stream else self._wire.send_control
            send({"jsonrpc": "2.0", "id": request.call_id, "result": result})
        except WireClosed:
            pass
        except AgentError as error:
            self._reply_error(request.call_id, error)
        except ProtocolError as error:
            self._reply_error(request.call_id, AgentError("failed", str(error)))
        except Exception as error:  # noqa: BLE001 - dispatch: a bug in a handler must not end the agent
            detail = traceback.format_exc()
            self._reply_error(request.call_id, AgentError("internal", f"{name}: {error!r}", detail=detail))
        finally:
            self._running.pop(request.call_id, None)
            self._threads.pop(request.call_id, None)

    def _call(self, name: Any, request: Request) -> Any:
        function = self._methods.get(name)
        if function is None:
            raise AgentError("invalid", f"no method {str(name)[:80]!r}")
        if not function.mutates:  # type: ignore[attr-defined]
            return function(self._node, request)
        if self._node.readonly_reason:
            raise AgentError("readonly", f"the agent is read-only: {self._node.readonly_reason}")
        with self._writer_lock(name, request):
            return function(self._node, request)

    @contextlib.contextmanager
    def _writer_lock(self, name: str, request: Request) -> Iterator[None]:
        path, _scope = lock.node_lock_path(self._node.options.lock_dir, state_dir.machine_id(), self._node.state.path)
        who = request.get("operator", str, f"uid {os.geteuid()}")
        with lock.hold(path, who, name):
            yield

    def _reply_error(self, call_id: Any, error: AgentError) -> None:
        with contextlib.suppress(WireClosed):
            self._wire.send_control(
                {
                    "jsonrpc": "2.0",
                    "id": call_id,
                    "error": {
                        "code": _CODES.get(error.kind, _APPLICATION_ERROR),
                        "message": error.message,
                        "data": {"kind": error.kind, "hint": error.hint, "detail": error.detail[-16384:]},
                    },
                }
            )


def discover() -> Dict[str, Callable[[Node, Request], Any]]:
    """Every marked function of every module in handlers/: "gpus.processes" is `processes` in gpus.py."""
    found = {}
    for module_info in pkgutil.iter_modules(handlers.__path__):
        module = importlib.import_module(f"{handlers.__name__}.{module_info.name}")
        for name, value in vars(module).items():
            if hasattr(value, "mutates") and getattr(value, "__module__", "") == module.__name__:
                found[f"{module_info.name}.{name.rstrip('_')}"] = value
    return found
