"""The slice of GPUs: readings come every second, holders less often; verdicts are made anew with either."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from console.node.verdict import verdicts
from console.state.events import InventoryRead, TelemetrySampled
from console.state.model import GpuState

if TYPE_CHECKING:
    from console.state.events import Event


def reduce(state: GpuState, event: Event) -> GpuState:
    match event:
        case TelemetrySampled(sample):
            return replace(state, sample=sample, verdicts=verdicts(sample, state.holders))
        case InventoryRead():
            return GpuState(
                sample=event.sample,
                holders=event.holders,
                verdicts=verdicts(event.sample, event.holders),
                unreadable_pids=event.unreadable_pids,
                reason=event.reason,
            )
    return state
