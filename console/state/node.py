"""The slice of what the node is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from console.state.events import AgentGreeted, InventoryRead, NodeNamed, ReadonlySet
from console.state.model import NodeState

if TYPE_CHECKING:
    from console.state.events import Event


def reduce(state: NodeState, event: Event) -> NodeState:
    match event:
        case NodeNamed(name, operator, simulated):
            return NodeState(name, operator, simulated, readonly=state.readonly)
        case ReadonlySet(reason):
            return replace(state, readonly=reason)
        case AgentGreeted(hello):
            return replace(state, hello=hello)
        case InventoryRead(facts=facts, ledger=ledger) if (facts, ledger) != (state.facts, state.ledger):
            return replace(state, facts=facts, ledger=ledger)
    return state
