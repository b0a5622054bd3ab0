"""Read a server's device timer at both ends of a probe: which stage of a cycle took the GPU's time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.errors import ConsoleError
from console.probe.acceptance import verifications
from console.probe.device_timer import device_split, read_timer
from console.remote.session import LinkLost
from console.units import plain

if TYPE_CHECKING:
    from console.actions.node import Node
    from console.actions.probe_record import ProbeRecord
    from console.probe.device_timer import DeviceSplit, TimerReading
    from console.probe.metrics import ProbeResult
    from console.probe.trace import ProbeTrace

TIMEOUT_S = 10.0
"""A server gathers its page from the files of all its processes."""


async def read(node: Node, port: int) -> TimerReading | str:
    """What the timer counts now, or why it is not known. GET /metrics takes no key (sglang.md 5.5)."""
    try:
        reply = await node.agent.http(port, "/metrics", timeout_s=TIMEOUT_S)
    except LinkLost:
        raise
    except ConsoleError as error:
        return plain(error.message)
    if reply.status == 404:
        return "the server runs without --enable-metrics"
    if reply.status != 200:
        return f"GET /metrics: {plain(reply.error) or f'HTTP {reply.status}'}"
    return read_timer(reply.body)


async def between(
    node: Node, port: int, record: ProbeRecord, trace: ProbeTrace, result: ProbeResult
) -> DeviceSplit | str:
    """What it counted since the probe began, which was just before its warm-up; or why that is not known."""
    if record.timer is None:
        return record.timer_why or "it was not read when the probe began"
    after = await read(node, port)
    if isinstance(after, str):
        return after
    tokens = sum(request.completion_tokens for request in trace.requests)
    cycles = verifications(trace.requests) if result.concurrency == 1 else None
    return device_split(record.timer, after, tokens, cycles)
