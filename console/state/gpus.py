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
            )
    return state


def _verdicts(sample: TelemetrySample, state: GpuState) -> tuple[GpuVerdict, ...]:
    known = {verdict.index: verdict for verdict in state.verdicts}
    made = verdicts(sample, state.holders)
    return tuple(known[each.index] if _differs(each, known.get(each.index)) else each for each in made)


def _differs(verdict: GpuVerdict, before: GpuVerdict | None) -> bool:
    return before is not None and before.state != verdict.state
