"""The command line, killed at one of its calls to the agent: `python -m tests.e2e.killed_console MOMENT:CALL WORD…`.

MOMENT is `before` the call, when it was `sent`, or when it was `answered`; CALL is its number, or its method. With
CALLS=PATH in the environment the methods are written to that file, in order, so that a test needs to list no step of
its own.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from console.remote import connection as connections


def kill_at(moment: str, which: str) -> None:
    """Make every connection of this process say where it is, and end the process there."""
    connection = connections.Connection
    call, send = connection.call, connection._send
    calls: list[str] = []

    def here(now: str) -> None:
        if now == moment and which in (str(len(calls)), *calls[-1:]):
            os.kill(os.getpid(), signal.SIGKILL)

    async def counted(self: Any, method: str, *rest: Any) -> Any:
        calls.append(method)
        if os.environ.get("CALLS"):
            Path(os.environ["CALLS"]).write_text("\n".join(calls))
        here("before")
        answer = await call(self, method, *rest)
        here("answered")
        return answer

    async def sent(self: Any, *request: Any) -> Any:
        result = await send(self, *request)
        here("sent")
        return result

    connection.call, connection._send = counted, sent  # type: ignore[method-assign]


if __name__ == "__main__":
    chosen, _, call = sys.argv.pop(1).partition(":")
    kill_at(chosen, call)
    from console.cli import main

    main()
