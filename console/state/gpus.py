"""The slice of GPUs: readings come every second, holders less often.

A verdict is made of both. Memory that is read alone makes the same verdict anew, but no other: who holds a GPU, or that
nobody does, is said of one reading of both.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from console.node.verdict import verdicts
from console.state.events import InventoryRead, TelemetrySampled
from console.state.model import GpuState

if TYPE_CHECKING:
    from console.node.verdict import GpuVerdict
    from console.state.events import Event
    from remote_agent.protocol import TelemetrySample


INVENTORY_S = 2.0
SHARE = 0.02
"""Of a core that looking again and again may cost the node: a server of eight ranks has 30,000 open files."""

BEFORE = "; that was before: its memory reads otherwise now, and its holders are being read"


def pause_s(cpu_s: float) -> float:
    """Seconds from a look at who holds the GPUs to the next, after one that cost the node so much of a core."""
    return max(INVENTORY_S, cpu_s / SHARE)


def reduce(state: GpuState, event: Event) -> GpuState:
    match event:
        # One that an inventory has overtaken on the wire tells of what was before.
        case TelemetrySampled(sample) if state.sample is None or sample.at >= state.sample.at:
            return replace(state, sample=sample, verdicts=_verdicts(sample, state))
        case InventoryRead():
            return GpuState(
                sample=event.sample,
                holders=event.holders,
                verdicts=verdicts(event.sample, event.holders),
                unreadable_pids=event.unreadable_pids,
                reason=event.reason,
                every_s=pause_s(event.cpu_s),
            )
    return state


def _verdicts(sample: TelemetrySample, state: GpuState) -> tuple[GpuVerdict, ...]:
    known = {verdict.index: verdict for verdict in state.verdicts}
    made = verdicts(sample, state.holders)
    return tuple(_until_read(known[each.index]) if _differs(each, known.get(each.index)) else each for each in made)


def _until_read(before: GpuVerdict) -> GpuVerdict:
    """Memory alone frees and takes no GPU: what was found stands, and says that it is of before."""
    return before if before.reason.endswith(BEFORE) else replace(before, reason=before.reason + BEFORE)


def _differs(verdict: GpuVerdict, before: GpuVerdict | None) -> bool:
    return before is not None and before.state != verdict.state
