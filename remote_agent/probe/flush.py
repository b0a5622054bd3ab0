"""Empty the server's prefix cache before a block."""

from __future__ import annotations

import time
from typing import Callable, Optional

from remote_agent.probe.exchange import Exchange, run_exchanges
from remote_agent.probe.http1 import post
from remote_agent.protocol.probe.spec import Spec

TRIES = 10
PAUSE_S = 0.2
TIMEOUT_S = 30.0


def flush_cache(spec: Spec, tick: Callable[[], None]) -> int:
    """Return the HTTP status of the last try, 0 where nothing answered; what `tick` raises ends it.

    SGLang answers 400 while a request runs, and the last one may still be leaving: such an answer is asked again.
    """
    request = post("/flush_cache", b"", spec.headers())
    status = 0
    for attempt in range(TRIES):
        if attempt:
            time.sleep(PAUSE_S)
        answer = _Status()
        exchange = Exchange(spec.port, request, answer, min(TIMEOUT_S, spec.timeout_s))
        run_exchanges(iter([exchange]), 1, lambda _: None, tick)
        status = answer.status
        if status != 400:
            break
    return status


class _Status:
    """The answer of which only the status counts."""

    def __init__(self) -> None:
        self.status = 0

    def begun(self, wall: float, now: float) -> None:
        """Its time does not matter."""

    def take(self, status: int, part: bytes, now: float) -> bool:
        return True

    def end(self, status: Optional[int], error: Optional[str], now: float) -> None:
        self.status = status or 0
