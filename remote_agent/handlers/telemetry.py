"""GPU readings: one now, or one every interval until the call is cancelled."""

from __future__ import annotations

import time

from remote_agent.gpu import SourceError
from remote_agent.node import Node
from remote_agent.protocol import TelemetrySample
from remote_agent.request import Request, method

MIN_INTERVAL_S = 0.25


@method()
def sample(node: Node, request: Request) -> TelemetrySample:
    """One reading; a driver that fails now gives source "none" with the reason."""
    return _sample(node)


@method()
def subscribe(node: Node, request: Request) -> None:
    """Send `telemetry.sample` every `interval_s` until cancelled; a slow wire gets the newest only."""
    interval = max(MIN_INTERVAL_S, request.get("interval_s", float, 1.0))
    while not request.is_stopped:
        request.send_latest("telemetry.sample", _sample(node))
        request.stop.wait(interval)


def _sample(node: Node) -> TelemetrySample:
    try:
        return node.idle.marked(node.gpu.sample())
    except SourceError as error:
        return TelemetrySample(at=time.time(), source="none", reason=f"{node.gpu.name}: {error}")
