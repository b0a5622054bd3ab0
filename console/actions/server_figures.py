"""Read what the server itself wrote while it was probed, and put its figures beside the client's."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from console.actions import device_time, read_log
from console.errors import ConsoleError
from console.launch import asked
from console.probe.agreement import with_server
from console.probe.decode_lines import INTERVAL, why_none
from console.probe.server_side import ServerFigures, server_figures
from console.remote.session import LinkLost
from console.units import format_bytes, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.actions.node import Node
    from console.actions.probe_record import ProbeRecord
    from console.probe.metrics import ProbeResult
    from console.probe.trace import ProbeTrace
    from remote_agent.protocol import ProbeRun

MOST_BYTES = 32 * 1024 * 1024
"""Of the log of one block; a debug build writes some megabytes a minute."""

NOT_KNOWN = "server's own figures: not known"


async def beside(
    node: Node, result: ProbeResult, trace: ProbeTrace, record: ProbeRecord, probe: ProbeRun
) -> ProbeResult:
    """Return the result with the server's figures, or a note that says why there are none."""
    if not result.valid:
        return result
    device = await device_time.between(node, probe.port, record, trace, result)
    figures = await _of_log(node, trace, record, probe)
    if isinstance(figures, str):
        result = replace(result, notes=(*result.notes, f"{NOT_KNOWN}: {figures}"))
        return result if isinstance(device, str) else replace(result, server=ServerFigures(device=device))
    told = replace(figures, device_why=device) if isinstance(device, str) else replace(figures, device=device)
    return with_server(result, told)


async def _of_log(node: Node, trace: ProbeTrace, record: ProbeRecord, probe: ProbeRun) -> ServerFigures | str:
    """What its log says of these blocks, or why nothing is known."""
    ranges = [(block.log_from, block.log_to) for block in trace.blocks]
    known = [(start, end) for start, end in ranges if start is not None and end is not None]
    if not record.server_log:
        return plain(record.log_problem) or "its log is not known"
    if len(known) < len(ranges):
        return f"its log {plain(record.server_log)} was begun anew, or cannot be read"
    try:
        path = await read_log.place(node, probe.run_id, record.server_log)
        parts = await _parts(node, path, known)
    except LinkLost:
        raise
    except ConsoleError as error:
        return plain(error.message)
    return server_figures(parts) or _why_nothing(trace, record, sum(map(len, parts)))


def _why_nothing(trace: ProbeTrace, record: ProbeRecord, size: int) -> str:
    measured = [request for request in trace.requests if not request.warmup]
    concurrency = record.fingerprint.workload.get("concurrency")
    interval = asked.read(record.fingerprint.argv).number("decode-log-interval")
    streams = concurrency if isinstance(concurrency, int) else 1
    why = why_none(measured, streams, interval if interval and interval > 0 else INTERVAL)
    return f"its log tells nothing of these blocks ({format_bytes(size)}): {why}"


async def _parts(node: Node, path: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
    return [await node.agent.read_range(path, start, min(end - start, MOST_BYTES)) for start, end in ranges]
